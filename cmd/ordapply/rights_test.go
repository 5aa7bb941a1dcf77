package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// shopFiles returns flags for the manifests of examples/shop.
func shopFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "shop", "*.yaml"))
	require.NoError(t, err)
	var flags []string
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" && name != "order.yaml" {
			flags = append(flags, "-f", file)
		}
	}
	require.NotEmpty(t, flags)
	return append(flags, "-n", "shop")
}

// deployer creates a ServiceAccount with the given Roles, and returns a
// kubeconfig for it.
func deployer(t *testing.T, cluster *testcluster.Cluster, name, roles string) string {
	t.Helper()
	cluster.Kubectl(t, "create", "serviceaccount", name, "-n", "default")
	kubectlApply(t, cluster, roles)
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	require.NoError(t, err)
	token := strings.TrimSpace(cluster.Kubectl(t, "create", "token", name, "-n", "default"))
	for _, user := range config.AuthInfos {
		user.Token = token
		user.ClientCertificateData, user.ClientKeyData = nil, nil
		user.ClientCertificate, user.ClientKey, user.TokenFile = "", "", ""
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}

func kubectlApply(t *testing.T, cluster *testcluster.Cluster, manifests string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	require.NoError(t, os.WriteFile(file, []byte(manifests), 0o600))
	cluster.Kubectl(t, "apply", "-f", file)
}

// printedRoles returns the output of rbac. The Roles have the name of the test, since tests with
// a ClusterRole share a cluster.
func printedRoles(t *testing.T, args ...string) string {
	t.Helper()
	name, _, _ := strings.Cut(strings.ToLower(t.Name()), "/")
	var out, stderrText bytes.Buffer
	code := run(context.Background(), append([]string{"rbac", "--name", name}, args...), nil, &out, &stderrText)
	require.Equal(t, report.ExitDone, code, stderrText.String())
	return out.String()
}

// refusals returns the requests that the API server forbade.
func refusals(requests []recorder.Request) []string {
	var out []string
	for _, r := range requests {
		if r.Code == 403 {
			out = append(out, r.String())
		}
	}
	return out
}

// The example is applied and deleted in its own namespace, under Roles: with
// one rule missing nothing happens, with all rules everything.
func TestRolesOfAStream(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t) // its own: other tests use the example's namespace too
	cluster.Kubectl(t, "create", "namespace", "shop")
	t.Run("report what is missing first", func(t *testing.T) { missingPermissionsAreReported(t, cluster) })
	t.Run("suffice", func(t *testing.T) { rolesSuffice(t, cluster) })
	t.Run("suffice to delete", func(t *testing.T) { rolesSufficeToDelete(t, cluster) })
}

// missingPermissionsAreReported: missing permissions are reported before the
// first write, all together, whichever rule is missing.
func missingPermissionsAreReported(t *testing.T, cluster *testcluster.Cluster) {
	files := shopFiles(t)
	roles := printedRoles(t, append(files, "--service-account", "default/lesser", "--kubeconfig", cluster.Kubeconfig)...)
	proxy := recorder.Start(t, deployer(t, cluster, "lesser", roles))
	cases := 0
	for _, document := range strings.Split(roles, "---\n") {
		var role rbacv1.ClusterRole
		require.NoError(t, yaml.Unmarshal([]byte(document), &role))
		for n, rule := range role.Rules {
			if !slices.Contains(rule.Verbs, "patch") {
				continue
			}
			cases++
			less := role.DeepCopy()
			less.Rules[n].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == "patch" || verb == "create" })
			replaceRole(t, cluster, less)
			proxy.Reset()
			code, stderrText := ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, files...)...)
			require.Equal(t, report.ExitFailed, code, stderrText)
			require.Zero(t, patches(proxy.Requests()), "nothing is written")
			require.Equal(t, wantedDenials(role.Namespace, rule), denials(stderrText))
			replaceRole(t, cluster, &role)
		}
	}
	require.Greater(t, cases, 5)
}

// rolesSuffice: an account with exactly the Roles that rbac prints applies the
// stream, and none of its requests is forbidden.
func rolesSuffice(t *testing.T, cluster *testcluster.Cluster) {
	files := shopFiles(t)
	roles := printedRoles(t, append(files, "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--service-account", "default/deployer")...)
	proxy := recorder.Start(t, deployer(t, cluster, "deployer", roles))

	code, stderrText := ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, files...)...)
	require.Equal(t, report.ExitDone, code, stderrText)
	require.Empty(t, refusals(proxy.Requests()))
	require.NotEmpty(t, patches(proxy.Requests()))

	proxy.Reset()
	code, stderrText = ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, files...)...)
	require.Equal(t, report.ExitDone, code, stderrText)
	require.Empty(t, refusals(proxy.Requests()))
	require.Zero(t, patches(proxy.Requests()))

	online := printedRoles(t, append(files, "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/deployer")...)
	require.Equal(t, roles, online, "a cluster knows nothing else of these kinds")
}

// rolesSufficeToDelete: a stream's objects are deleted under the Roles too. Missing
// permissions are reported before anything is deleted.
func rolesSufficeToDelete(t *testing.T, cluster *testcluster.Cluster) {
	files := shopFiles(t)
	roles := printedRoles(t, append(files, "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--delete", "--service-account", "default/remover")...)
	proxy := recorder.Start(t, deployer(t, cluster, "remover", roles))
	remove := append([]string{"delete", "--prune-namespaces"}, files...)

	replaceRole(t, cluster, withoutVerb(t, roles, "shop", "deployments", "delete"))
	code, stderrText := ordapplyWith(proxy.Kubeconfig, remove...)
	require.Equal(t, report.ExitFailed, code, stderrText)
	require.Equal(t, []string{
		`error: "system:serviceaccount:default:remover" may not delete deployments.apps in namespace "shop"`,
		`error: "system:serviceaccount:default:remover" may not delete statefulsets.apps in namespace "shop"`,
	}, denials(stderrText))
	for _, r := range proxy.Requests() {
		require.NotEqual(t, "delete", r.Verb, "nothing is deleted")
	}

	kubectlApply(t, cluster, roles)
	proxy.Reset()
	code, stderrText = ordapplyWith(proxy.Kubeconfig, remove...)
	require.Equal(t, report.ExitDone, code, stderrText)
	_, err := cluster.TryKubectl("get", "namespace", "shop")
	require.Error(t, err)
}

// With an apply set the parent, the lock and the history are permitted too, the
// parent and the lock by name.
func TestRolesOfAnApplySetSuffice(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "keeping")
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configMapStream("keeping", 3)), 0o600))
	set := []string{"-f", file, "-n", "keeping", "--applyset", "configmap/kept"}
	roles := printedRoles(t, append(set, "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--service-account", "default/keeper")...)
	require.Contains(t, roles, "- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [ordapply.configmap.kept], verbs: [get, update]}")
	proxy := recorder.Start(t, deployer(t, cluster, "keeper", roles))
	for range 2 {
		code, stderrText := ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
		require.Equal(t, report.ExitDone, code, stderrText)
		require.Empty(t, refusals(proxy.Requests()))
	}

	cluster.Kubectl(t, "delete", "lease", "ordapply.configmap.kept", "-n", "keeping")
	replaceRole(t, cluster, without(t, roles, "keeping", "leases"))
	proxy.Reset()
	code, stderrText := ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitFailed, code, stderrText)
	require.Equal(t, []string{
		`error: "system:serviceaccount:default:keeper" may not create, get, update leases.coordination.k8s.io in namespace "keeping"`,
	}, denials(stderrText))
	require.Contains(t, stderrText, "ordapply rbac -f "+file+" -n keeping --applyset configmap/kept --service-account default/keeper\n")
	for _, r := range proxy.Requests() {
		require.NotContains(t, []string{"create", "update", "patch", "delete"}, r.Verb, "nothing is written: %s", r)
	}
}

// The same with a cluster-scoped parent, which the Roles permit by name only,
// including its creation.
func TestRolesOfAClusterScopedParentSuffice(t *testing.T) {
	cluster := shared.Get(t)
	definesParents(t, cluster)
	cluster.Kubectl(t, "create", "namespace", "keeping-wide")
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configMapStream("keeping-wide", 3)), 0o600))
	set := []string{"-f", file, "-n", "keeping-wide", "--applyset", "applysets.ordapply.dev/keeping"}
	roles := printedRoles(t, append(set, "--delete", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/wide")...)
	proxy := recorder.Start(t, deployer(t, cluster, "wide", roles))
	for _, args := range [][]string{append([]string{"apply"}, set...), append([]string{"apply"}, set...), append([]string{"delete"}, set[2:]...)} {
		code, stderrText := ordapplyWith(proxy.Kubeconfig, args...)
		require.Equal(t, report.ExitDone, code, stderrText)
		require.Empty(t, refusals(proxy.Requests()))
	}
}

// definesParents defines the cluster-scoped kind of parents. Other tests may do so at the
// same time, which server-side apply permits.
func definesParents(t *testing.T, cluster *testcluster.Cluster) {
	t.Helper()
	definition := filepath.Join(t.TempDir(), "crd.yaml")
	require.NoError(t, os.WriteFile(definition, []byte(parentCRD), 0o600))
	cluster.Kubectl(t, "apply", "--server-side", "-f", definition)
	cluster.Established(t, "crd/applysets.ordapply.dev")
}

// Pruning works under the Roles too. Missing permissions to prune are reported
// before anything is applied.
func TestRolesOfAPruneSuffice(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "rights-prune")
	cluster.Kubectl(t, "create", "namespace", "rights-beside")
	file := filepath.Join(t.TempDir(), "app.yaml")
	deployment := "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: rights-beside}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: c}]}}}\n"
	require.NoError(t, os.WriteFile(file, []byte(configMapStream("rights-prune", 3)+deployment), 0o600))
	set := []string{"-f", file, "-n", "rights-prune", "--applyset", "shop", "--prune"}
	roles := printedRoles(t, append(set, "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--service-account", "default/pruner")...)
	proxy := recorder.Start(t, deployer(t, cluster, "pruner", roles))
	code, stderrText := ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, stderrText)

	replaceRole(t, cluster, withoutVerb(t, roles, "rights-prune", "configmaps", "delete"))
	require.NoError(t, os.WriteFile(file, []byte(configMapStream("rights-prune", 1)+deployment+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: new, namespace: rights-prune}\n"), 0o600))
	code, stderrText = ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitFailed, code, stderrText)
	require.Equal(t, []string{`error: "system:serviceaccount:default:pruner" may not delete configmaps in namespace "rights-prune"`}, denials(stderrText))
	_, err := cluster.TryKubectl("get", "configmap", "new", "-n", "rights-prune")
	require.Error(t, err, "nothing was written")

	kubectlApply(t, cluster, roles)
	code, stderrText = ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, stderrText)
	require.Equal(t, "configmap/c0 configmap/new", strings.Join(strings.Fields(cluster.Kubectl(t, "get", "configmap", "-n", "rights-prune", "-o", "name", "-l", "applyset.kubernetes.io/part-of")), " "))
	for _, r := range proxy.Requests() {
		if r.Code == 403 {
			require.Equal(t, "list", r.Verb, r)
			require.Empty(t, r.Namespace, "only lists of the whole cluster are refused, and done without: %s", r)
		}
	}
}

// Members that the stream no longer contains may be pruned under Roles printed
// afterwards: the advice in the error helps.
func TestRolesOfAPruneAllowWhatTheSetHas(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "rights-dropped")
	cluster.Kubectl(t, "create", "namespace", "rights-dropped-beside")
	file := filepath.Join(t.TempDir(), "app.yaml")
	dropped := "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: rights-dropped-beside}\n---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: rights-dropped}\nvalue: 1\n"
	require.NoError(t, os.WriteFile(file, []byte(configMapStream("rights-dropped", 1)+dropped), 0o600))
	set := []string{"-f", file, "-n", "rights-dropped", "--applyset", "shop", "--prune"}
	code, stderrText := ordapplyWith(cluster.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, stderrText)

	require.NoError(t, os.WriteFile(file, []byte(configMapStream("rights-dropped", 1)), 0o600))
	roles := printedRoles(t, append(set, "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/dropper")...)
	kubeconfig := deployer(t, cluster, "dropper", roles)
	code, stderrText = ordapplyWith(kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, stderrText)
	_, err := cluster.TryKubectl("get", "serviceaccount", "a", "-n", "rights-dropped-beside")
	require.Error(t, err)
}

// Under Roles of several namespaces, cluster-wide lists are forbidden and
// replaced, and an apply without changes still stays within 3K + 20 requests.
func TestRequestBudgetUnderRoles(t *testing.T) {
	cluster := shared.Get(t)
	var stream strings.Builder
	const namespaces, kinds = 4, 3
	for n := range namespaces {
		namespace := fmt.Sprintf("rights-budget-%d", n)
		cluster.Kubectl(t, "create", "namespace", namespace)
		stream.WriteString(configMapStream(namespace, 2))
		for _, kind := range []string{"ServiceAccount", "Service"} {
			fmt.Fprintf(&stream, "---\napiVersion: v1\nkind: %s\nmetadata: {name: web, namespace: %s}\n", kind, namespace)
			if kind == "Service" {
				stream.WriteString("spec: {clusterIP: None, selector: {a: b}}\n")
			}
		}
	}
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(stream.String()), 0o600))
	set := []string{"-f", file, "-n", "rights-budget-0", "--applyset", "shop", "--prune"}
	roles := printedRoles(t, append(set, "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--service-account", "default/budget")...)
	proxy := recorder.Start(t, deployer(t, cluster, "budget", roles))
	code, stderrText := ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, stderrText)

	proxy.Reset()
	code, stderrText = ordapplyWith(proxy.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, stderrText)
	verbs := map[string]int{}
	for _, r := range proxy.Requests() {
		verbs[r.Verb]++
	}
	const budget = 3*namespaces*kinds + 20
	total := len(proxy.Requests()) - verbs["review"]
	t.Logf("%d pairs: %d requests %v, %d of them refused; the budget is %d", namespaces*kinds, total, verbs, len(refusals(proxy.Requests())), budget)
	require.Zero(t, verbs["patch"])
	require.LessOrEqual(t, total, budget)
}

// withoutVerb returns the Role of a namespace without a verb on a resource.
func withoutVerb(t *testing.T, roles, namespace, resource, verb string) *rbacv1.ClusterRole {
	t.Helper()
	role := without(t, roles, namespace, "")
	for i, r := range role.Rules {
		if slices.Contains(r.Resources, resource) {
			role.Rules[i].Verbs = slices.DeleteFunc(r.Verbs, func(v string) bool { return v == verb })
		}
	}
	return role
}

func TestRolesOfASetDeletionSuffice(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "rights-set-deletion")
	file := filepath.Join(t.TempDir(), "app.yaml")
	kept := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: precious, namespace: rights-set-deletion, annotations: {helm.sh/resource-policy: keep}}\n" +
		"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: rights-kept}\n"
	require.NoError(t, os.WriteFile(file, []byte(configMapStream("rights-set-deletion", 3)+kept), 0o600))
	code, stderrText := ordapplyWith(cluster.Kubeconfig, "apply", "-f", file, "-n", "rights-set-deletion", "--applyset", "shop")
	require.Equal(t, report.ExitDone, code, stderrText)
	roles := printedRoles(t, "-f", file, "-n", "rights-set-deletion", "--applyset", "shop", "--delete", "--kubeconfig", filepath.Join(t.TempDir(), "none"), "--service-account", "default/deleter")
	proxy := recorder.Start(t, deployer(t, cluster, "deleter", roles))
	cluster.Kubectl(t, "create", "configmap", "theirs", "-n", "rights-kept")
	remove := []string{"delete", "-n", "rights-set-deletion", "--applyset", "shop"}

	replaceRole(t, cluster, withoutVerb(t, roles, "rights-set-deletion", "configmaps", "delete"))
	code, stderrText = ordapplyWith(proxy.Kubeconfig, remove...)
	require.Equal(t, report.ExitFailed, code, stderrText)
	require.Equal(t, []string{`error: "system:serviceaccount:default:deleter" may not delete configmaps in namespace "rights-set-deletion"`}, denials(stderrText))
	for _, r := range proxy.Requests() {
		require.Contains(t, []string{"get", "list", "watch", "review", "discovery"}, r.Verb, "nothing is written: %s", r)
	}

	kubectlApply(t, cluster, roles)
	proxy.Reset()
	code, stderrText = ordapplyWith(proxy.Kubeconfig, remove...)
	require.Equal(t, report.ExitDone, code, stderrText)
	require.NotContains(t, cluster.Kubectl(t, "get", "configmaps,secrets,leases", "-n", "rights-set-deletion", "-o", "name"), "shop")
	require.Contains(t, stderrText, "ConfigMap rights-set-deletion/precious ")
	for _, kept := range []string{"configmap/precious", "namespace/rights-kept"} {
		labels := cluster.Kubectl(t, "get", kept, "-n", "rights-set-deletion", "-o", "jsonpath={.metadata.labels}")
		require.NotContains(t, labels, "applyset.kubernetes.io/part-of", "what is kept belongs to no set")
	}
	for _, r := range proxy.Requests() {
		if r.Code == 403 {
			require.Equal(t, "list", r.Verb, r)
			require.NotEqual(t, "rights-set-deletion", r.Namespace, "only lists of the whole cluster, and of what a Namespace holds, are refused and done without: %s", r)
		}
	}
}

// without returns the Role of a namespace without the rule of a resource.
func without(t *testing.T, roles, namespace, resource string) *rbacv1.ClusterRole {
	t.Helper()
	for document := range strings.SplitSeq(roles, "---\n") {
		var role rbacv1.ClusterRole
		require.NoError(t, yaml.Unmarshal([]byte(document), &role))
		if role.Kind == "Role" && role.Namespace == namespace {
			role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
			return &role
		}
	}
	require.Fail(t, "no Role in namespace "+namespace)
	return nil
}

// configMapStream returns n ConfigMaps.
func configMapStream(namespace string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: %s}\n", i, namespace)
	}
	return out.String()
}

func replaceRole(t *testing.T, cluster *testcluster.Cluster, role *rbacv1.ClusterRole) {
	t.Helper()
	text, err := yaml.Marshal(role)
	require.NoError(t, err)
	kubectlApply(t, cluster, string(text))
}

// wantedDenials returns the expected lines about a missing rule.
func wantedDenials(namespace string, rule rbacv1.PolicyRule) []string {
	var lines []string
	for _, resource := range rule.Resources {
		verbs := "create, patch"
		if resource == "namespaces" { // it exists, so nothing creates it
			verbs = "patch"
		}
		line := `error: "system:serviceaccount:default:lesser" may not ` + verbs + " " + resource
		if rule.APIGroups[0] != "" {
			line += "." + rule.APIGroups[0]
		}
		for _, name := range rule.ResourceNames {
			line += ` "` + name + `"`
		}
		if namespace != "" {
			line += ` in namespace "` + namespace + `"`
		}
		lines = append(lines, line)
	}
	return lines
}

// denials returns the lines about missing permissions.
func denials(stderrText string) []string {
	var lines []string
	for line := range strings.Lines(stderrText) {
		if strings.Contains(line, "may not ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return lines
}
