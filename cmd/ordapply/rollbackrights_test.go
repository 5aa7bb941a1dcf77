package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// serviceStream returns a Service without Pods.
func serviceStream(namespace string) string {
	return "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: " + namespace + "}\nspec: {clusterIP: None, selector: {a: b}}\n"
}

// onlyWideLists fails if requests other than cluster-wide lists were forbidden.
func onlyWideLists(t *testing.T, requests []recorder.Request) {
	t.Helper()
	for _, r := range requests {
		if r.Code == 403 {
			require.Contains(t, []string{"list", "watch"}, r.Verb, "%s", r)
			require.Empty(t, r.Namespace, "%s", r)
		}
	}
}

// An account with exactly the Roles that rbac prints rolls back on failure and
// with the rollback command, and shows the health of the set. Missing
// permissions for rolling back are reported before anything is written.
func TestRolesOfARollbackSuffice(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "rights-back"
	cluster.Kubectl(t, "create", "namespace", namespace)
	file := filepath.Join(t.TempDir(), "app.yaml")
	account := "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: before, namespace: rights-back}\n"
	require.NoError(t, os.WriteFile(file, []byte(configMapStream(namespace, 2)+account), 0o600))
	set := []string{"-f", file, "-n", namespace, "--applyset", "shop"}
	code, output := ordapplyWith(cluster.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, output)

	broken := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken, namespace: rights-back}\ndata: {no/key: \"1\"}\n"
	require.NoError(t, os.WriteFile(file, []byte(configMapStream(namespace, 1)+serviceStream(namespace)+broken), 0o600))
	roles := printedRoles(t, append(set, "--rollback-on-failure", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/undoer")...)
	proxy := recorder.Start(t, deployer(t, cluster, "undoer", roles))
	run := append([]string{"apply", "--rollback-on-failure"}, set...)

	for resource, verb := range map[string]string{"services": "delete", "serviceaccounts": "patch"} {
		replaceRole(t, cluster, withoutVerb(t, roles, namespace, resource, verb))
		proxy.Reset()
		code, output = ordapplyWith(proxy.Kubeconfig, run...)
		require.Equal(t, report.ExitFailed, code, output)
		require.NotEmpty(t, denials(output), output)
		require.Contains(t, strings.Join(denials(output), "\n"), "may not "+verb+" "+resource)
		require.Contains(t, output, "ordapply rbac -f "+file+" -n rights-back --applyset shop --rollback-on-failure --service-account default/undoer\n")
		for _, r := range proxy.Requests() {
			require.NotContains(t, []string{"create", "update", "patch", "delete"}, r.Verb, "nothing is written: %s", r)
		}
	}

	kubectlApply(t, cluster, roles)
	proxy.Reset()
	code, output = ordapplyWith(proxy.Kubeconfig, run...)
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "\nrolled back to revision 1\n")
	onlyWideLists(t, proxy.Requests())
	cluster.Kubectl(t, "get", "serviceaccount", "before", "-n", namespace)
	_, err := cluster.TryKubectl("get", "service", "web", "-n", namespace)
	require.Error(t, err, "what the failed run created is deleted")

	require.NoError(t, os.WriteFile(file, []byte(configMapStream(namespace, 1)), 0o600))
	code, output = ordapplyWith(cluster.Kubeconfig, append([]string{"apply", "--prune"}, set...)...)
	require.Equal(t, report.ExitDone, code, output)
	roles = printedRoles(t, append(set, "--rollback", "--status", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/keeper-of-shop")...)
	proxy = recorder.Start(t, deployer(t, cluster, "keeper-of-shop", roles))
	for _, args := range [][]string{{"rollback", "shop"}, {"rollback", "shop", "--to-revision", "1"}, {"history", "shop"}, {"status", "shop"}} {
		code, output = ordapplyWith(proxy.Kubeconfig, append(args, "-n", namespace)...)
		require.Equal(t, report.ExitDone, code, output)
	}
	onlyWideLists(t, proxy.Requests())
}

// A set of another tool is taken over under the Roles that rbac prints.
func TestRolesOfATakeOverSuffice(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "rights-taken"
	cluster.Kubectl(t, "create", "namespace", namespace)
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configMapStream(namespace, 2)+serviceStream(namespace)), 0o600))
	set := []string{"-f", file, "-n", namespace, "--applyset", "shop"}
	code, output := ordapplyWith(cluster.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, output)
	code, output = ordapplyWith(cluster.Kubeconfig, "applyset", "hand-over", "shop", "-n", namespace, "--to", "kubectl")
	require.Equal(t, report.ExitDone, code, output)

	require.NoError(t, os.WriteFile(file, []byte(configMapStream(namespace, 2)), 0o600))
	roles := printedRoles(t, append(set, "--take-over", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/taker")...)
	proxy := recorder.Start(t, deployer(t, cluster, "taker", roles))
	code, output = ordapplyWith(proxy.Kubeconfig, append([]string{"apply", "--take-over"}, set...)...)
	require.Equal(t, report.ExitDone, code, output)
	onlyWideLists(t, proxy.Requests())
}

// Objects of a Helm release beside the stream are taken over and pruned under rbac's Roles;
// without the right to read the release, nothing is written.
func TestRolesOfATakeOverOfARecordSuffice(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "rights-release"
	cluster.Kubectl(t, "create", "namespace", namespace)
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	serviceAccount := "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: left, namespace: " + namespace + "}\n"
	release, err := json.Marshal(map[string]string{"name": "shop", "manifest": configMapStream(namespace, 2) + serviceAccount})
	require.NoError(t, err)
	kubectlApply(t, cluster, configMapStream(namespace, 2)+serviceAccount)
	cluster.Kubectl(t, "annotate", "configmap,serviceaccount", "--all", "-n", namespace, "meta.helm.sh/release-name=shop", "meta.helm.sh/release-namespace="+namespace)
	kubectlApply(t, cluster, "apiVersion: v1\nkind: Secret\nmetadata: {name: sh.helm.release.v1.shop.v1, namespace: "+namespace+", labels: {owner: helm, name: shop, status: deployed, version: \"1\"}}\ndata: {release: "+encode(encode(string(release)))+"}\n")

	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configMapStream(namespace, 2)), 0o600))
	set := []string{"-f", file, "-n", namespace, "--applyset", "moved", "--take-over", "--prune"}
	roles := printedRoles(t, append(set, "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/mover")...)
	require.Contains(t, roles, "resources: [serviceaccounts], resourceNames: [left], verbs: [delete, get, patch]")
	proxy := recorder.Start(t, deployer(t, cluster, "mover", strings.Replace(roles, "resourceNames: [left], verbs: [delete, get, patch]", "resourceNames: [left], verbs: [get, patch]", 1)))
	code, output := ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "may not delete serviceaccounts")
	require.Zero(t, patches(proxy.Requests()), "nothing is written")

	kubectlApply(t, cluster, roles)
	proxy.Reset()
	code, output = ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, output, "2 ready, 1 deleted, ")
	onlyWideLists(t, proxy.Requests())
	_, err = cluster.TryKubectl("get", "serviceaccount", "left", "-n", namespace)
	require.Error(t, err)
}

// No rule is superfluous: without any of the printed verbs, the run is
// rejected, or the API server forbids a request. It tries a sample, or with
// ORDAPPLY_RIGHTS=all every verb.
func TestEveryPrintedVerbIsUsed(t *testing.T) {
	cluster := shared.Get(t)
	const namespace = "rights-each"
	cluster.Kubectl(t, "create", "namespace", namespace)
	file := filepath.Join(t.TempDir(), "app.yaml")
	job := "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once, namespace: rights-each, annotations: {ordapply.dev/timeout: 6s}}\nspec: {template: {metadata: {annotations: {localcluster/behaviour: never-ready}}, spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}\n"
	require.NoError(t, os.WriteFile(file, []byte(configMapStream(namespace, 2)+job), 0o600))
	args := []string{"-f", file, "-n", namespace, "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--service-account", "default/each"}
	roles := printedRoles(t, args...)
	proxy := recorder.Start(t, deployer(t, cluster, "each", roles))
	checked := 0
	for document := range strings.SplitSeq(roles, "---\n") {
		var role rbacv1.ClusterRole
		require.NoError(t, yaml.Unmarshal([]byte(document), &role))
		for n, rule := range role.Rules {
			for v, verb := range rule.Verbs {
				if os.Getenv("ORDAPPLY_RIGHTS") != "all" && (n+v)%4 != 0 {
					continue
				}
				checked++
				less := role.DeepCopy()
				less.Rules[n].Verbs = append(append([]string{}, rule.Verbs[:v]...), rule.Verbs[v+1:]...)
				if len(less.Rules[n].Verbs) == 0 {
					less.Rules = append(less.Rules[:n], less.Rules[n+1:]...)
				}
				replaceRole(t, cluster, less)
				cluster.Kubectl(t, "delete", "configmaps,jobs", "--all", "-n", namespace, "--wait=true")
				proxy.Reset()
				code, output := ordapplyWith(proxy.Kubeconfig, "apply", "-f", file, "-n", namespace)
				refused := len(refusals(proxy.Requests()))
				require.True(t, len(denials(output)) > 0 || refused > 0, "%s on %v is printed and not used (exit %d):\n%s", verb, rule.Resources, code, output)
				replaceRole(t, cluster, &role)
			}
		}
	}
	require.Greater(t, checked, 2)
}
