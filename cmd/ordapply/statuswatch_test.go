package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/status"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

const watchedStream = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: watched-1}
data: {colour: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: watched-2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: watched-1}
spec: {selector: {matchLabels: {a: web}}, template: {metadata: {labels: {a: web}}, spec: {containers: [{name: c, image: c}]}}}
`

// following is a running status --watch with its output.
type following struct {
	out, errs <-chan string
	interrupt context.CancelFunc
	ended     <-chan int
}

// follow follows a set until the test ends.
func follow(t *testing.T, kubeconfig string, args ...string) *following {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	out, outPipe := io.Pipe()
	errs, errPipe := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"status", "--watch", "--kubeconfig", kubeconfig}, args...), nil, outPipe, errPipe)
		_ = outPipe.Close()
		_ = errPipe.Close()
		ended <- code
	}()
	t.Cleanup(interrupt)
	return &following{out: linesOf(out), errs: linesOf(errs), interrupt: interrupt, ended: ended}
}

func linesOf(r io.Reader) <-chan string {
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// A set in two namespaces is polled: while nothing changes, only metadata is read, and
// nothing is watched. Changes are shown, including a new revision, a new kind and a new
// namespace.
func TestStatusPollsMetadata(t *testing.T) {
	t.Parallel()
	cluster := shared.Get(t)
	applied := func(stream string) {
		code, printed := applyThrough(cluster.Kubeconfig, []byte(stream), "--applyset", "watched", "-n", "watched-1")
		require.Equal(t, report.ExitDone, code, printed)
	}
	cluster.Kubectl(t, "create", "namespace", "watched-1")
	cluster.Kubectl(t, "create", "namespace", "watched-2")
	applied(watchedStream)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	f := follow(t, proxy.Kubeconfig, "watched", "-n", "watched-1")
	awaitLine(t, f.out, "all         3/3    Healthy")
	require.Equal(t, []string{"configmaps ", "deployments ", "secrets watched-1"}, awaitMetadataPolls(t, proxy))

	cluster.Kubectl(t, "delete", "configmap", "b", "-n", "watched-2")
	awaitLine(t, f.out, "ConfigMap watched-2/b: missing: it does not exist, or is no longer a member of the set")
	awaitLine(t, f.out, "(no layer): Degraded, 2/3 ready")
	applied(strings.Replace(watchedStream, "blue", "red", 1))
	awaitLines(t, f.out, ", revision 2, deployed, ")
	applied(watchedStream + "---\n" + strings.ReplaceAll(stranger, "copied", "new"))
	awaitLines(t, f.out, "ServiceAccount watched-1/new: ready", ", revision 3, deployed, ")
	require.Equal(t, []string{"configmaps ", "deployments ", "secrets watched-1", "serviceaccounts "}, awaitMetadataPolls(t, proxy))
	t.Run("remarks", func(t *testing.T) { testRemarkOfAWatch(t, cluster, f) })
	f.interrupt()
	require.Equal(t, report.ExitInterrupted, <-f.ended)
	for line := range f.errs {
		require.Empty(t, line)
	}
	for _, r := range proxy.Requests() {
		require.NotEqual(t, "watch", r.Verb, "%s", r)
	}
}

// awaitMetadataPolls waits for polls without other requests between them, and returns their
// lists, sorted.
func awaitMetadataPolls(t *testing.T, proxy *recorder.Proxy) []string {
	t.Helper()
	var places []string
	require.Eventually(t, func() bool {
		requests := proxy.Requests()
		last := 0 // the number of requests up to the last one of objects
		for i, r := range requests {
			if r.Verb != "list" || !r.Metadata {
				last = i + 1
			}
		}
		polls := 0
		places = nil
		for _, r := range requests[last:] {
			places = append(places, r.Resource+" "+r.Namespace)
			if strings.HasPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=") { // the set's parent
				polls++
			}
		}
		slices.Sort(places)
		places = slices.Compact(places)
		return polls > 3
	}, 5*time.Minute, 100*time.Millisecond)
	return places
}

// A kind that is defined while its set is followed is found, and the status of its custom
// resource is shown when a controller writes it.
func TestStatusFollowsADefinedKind(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "set-defined")
	applied := func(stream string) {
		code, printed := applyThrough(cluster.Kubeconfig, []byte(stream), "--applyset", "shop", "-n", "set-defined", "--status-grace", "1s")
		require.Equal(t, report.ExitDone, code, printed)
	}
	two := strings.ReplaceAll(twoOfASet, "set-verbs", "set-defined")
	applied(two)
	f := follow(t, cluster.Kubeconfig, "shop", "-n", "set-defined", "--status-grace", "1h")
	awaitLine(t, f.out, "all         2/2    Healthy")
	applied(two + definedKind)
	awaitLine(t, f.out, "Watcher.watched.example set-defined/one: progressing: it has no status yet")
	cluster.Kubectl(t, "patch", "watchers.watched.example", "one", "-n", "set-defined", "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	awaitLine(t, f.out, "Watcher.watched.example set-defined/one: ready")
}

// The endpoints of a Service that a webhook calls are polled, too: they decide on the
// verdict of a configuration that does not change.
func TestStatusFollowsEndpoints(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "set-called")
	kubectlApply(t, cluster, calledEndpoints)
	code, printed := applyThrough(cluster.Kubeconfig, []byte(callingWebhook), "--applyset", "shop", "-n", "set-called")
	require.Equal(t, report.ExitDone, code, printed)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	f := follow(t, proxy.Kubeconfig, "shop", "-n", "set-called")
	awaitLine(t, f.out, "all         2/2    Healthy")
	require.Contains(t, awaitMetadataPolls(t, proxy), "endpointslices set-called")
	cluster.Kubectl(t, "delete", "endpointslice", "checker", "-n", "set-called")
	awaitLine(t, f.out, "ValidatingWebhookConfiguration status-calls: progressing: Service set-called/checker has no ready endpoint")
	kubectlApply(t, cluster, calledEndpoints)
	awaitLine(t, f.out, "ValidatingWebhookConfiguration status-calls: ready")
}

const callingWebhook = `apiVersion: v1
kind: Service
metadata: {name: checker, namespace: set-called}
spec: {ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: status-calls}
webhooks:
- name: a.status.example
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  rules: [{apiGroups: [nothing.example], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
  clientConfig: {caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K, service: {name: checker, namespace: set-called}}
`

const calledEndpoints = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: checker, namespace: set-called, labels: {kubernetes.io/service-name: checker}}
addressType: IPv4
ports: [{port: 443}]
endpoints: [{addresses: [192.0.2.1], conditions: {ready: true}}]
`

// Objects left by hooks are shown while a set is followed, at first and with each new
// revision.
func TestStatusFollowsWhatHooksLeft(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "set-hooked")
	applied := func(stream string) {
		code, printed := applyThrough(cluster.Kubeconfig, []byte(stream), "--applyset", "shop", "-n", "set-hooked")
		require.Equal(t, report.ExitDone, code, printed)
	}
	const hook = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, annotations: {helm.sh/hook: %q}}\n"
	stream := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + fmt.Sprintf(hook, "first", "post-install") + fmt.Sprintf(hook, "second", "pre-upgrade")
	applied(stream)
	f := follow(t, cluster.Kubeconfig, "shop", "-n", "set-hooked")
	awaitLine(t, f.out, "note: Secret set-hooked/first is not a member: a hook left it behind, and it is deleted with the set")
	applied(strings.Replace(stream, "{name: a}", "{name: a, labels: {new: revision}}", 1))
	awaitLine(t, f.out, "note: Secret set-hooked/second is not a member: a hook left it behind, and it is deleted with the set")
}

const definedKind = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: watchers.watched.example}
spec:
  group: watched.example
  scope: Namespaced
  names: {kind: Watcher, listKind: WatcherList, plural: watchers, singular: watcher}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
---
apiVersion: watched.example/v1
kind: Watcher
metadata: {name: one, namespace: set-defined}
`

const stranger = `apiVersion: v1
kind: ServiceAccount
metadata: {name: copied, namespace: watched-1}
`

// testRemarkOfAWatch: an object with the label that is not a member is reported
// once.
func testRemarkOfAWatch(t *testing.T, cluster *testcluster.Cluster, f *following) {
	label := strings.TrimSpace(cluster.Kubectl(t, "get", "serviceaccount", "new", "-n", "watched-1", "-o", `jsonpath={.metadata.labels.applyset\.kubernetes\.io/part-of}`))
	kubectlApply(t, cluster, strings.Replace(stranger, "name: copied", "name: copied, labels: {applyset.kubernetes.io/part-of: "+label+"}", 1))
	awaitLine(t, f.out, "note: ServiceAccount watched-1/copied has the label of the apply set but is not a member: field manager kubectl-client-side-apply set the label, not a run of the set; it is left unchanged")
	cluster.Kubectl(t, "label", "serviceaccount", "copied", "-n", "watched-1", "more=yes")
	cluster.Kubectl(t, "delete", "configmap", "a", "-n", "watched-1")
	awaitLine(t, f.out, "(no layer): Degraded, 3/4 ready")
	require.Empty(t, f.out, "the remark comes once")
}

// awaitLines reads lines until each of these texts has occurred, in any order.
func awaitLines(t *testing.T, lines <-chan string, wanted ...string) {
	t.Helper()
	for len(wanted) > 0 {
		select {
		case line, ok := <-lines:
			require.True(t, ok, "no %q", wanted)
			wanted = slices.DeleteFunc(wanted, func(text string) bool { return strings.Contains(line, text) })
		case <-time.After(5 * time.Minute):
			require.Fail(t, "no such line", "%q", wanted)
		}
	}
}

// awaitMessage returns the next line that is not about a slow step of this machine.
func awaitMessage(lines <-chan string) string {
	for line := range lines {
		if !strings.HasPrefix(line, "still ") {
			return line
		}
	}
	return ""
}

// A temporary outage of the API server does not end the command: it is reported
// once, and changes are shown when it is back. -o json prints the complete
// status each time.
func TestStatusOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "set-outage")
	code, printed := applyThrough(cluster.Kubeconfig, []byte(strings.ReplaceAll(twoOfASet, "set-verbs", "set-outage")), "--applyset", "away", "-n", "set-outage")
	require.Equal(t, report.ExitDone, code, printed)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	f := follow(t, proxy.Kubeconfig, "away", "-n", "set-outage", "-o", "json")
	require.Equal(t, "Healthy", awaitDocument(t, f.out).Health)
	mend := proxy.Break()
	line := awaitMessage(f.errs)
	require.True(t, strings.HasSuffix(line, "; trying again"), line)
	proxy.Reset()
	require.Eventually(t, func() bool { return len(proxy.Requests()) > 3 }, 5*time.Minute, 100*time.Millisecond, "it tries again")
	cluster.Kubectl(t, "delete", "configmap", "a", "-n", "set-outage")
	mend()
	document := awaitDocument(t, f.out)
	require.Equal(t, "Degraded", document.Health)
	require.Equal(t, 1, document.Ready)
	require.Equal(t, "the apply set can be read again", awaitMessage(f.errs), "the outage is reported once")
	cluster.Kubectl(t, "delete", "serviceaccount", "b", "-n", "set-outage")
	require.Zero(t, awaitDocument(t, f.out).Ready)
}

func awaitDocument(t *testing.T, lines <-chan string) (document status.Document) {
	t.Helper()
	select {
	case line := <-lines:
		require.NoError(t, json.Unmarshal([]byte(line), &document), line)
	case <-time.After(5 * time.Minute):
		require.Fail(t, "nothing is reported")
	}
	return document
}

// An account with exactly the Roles that rbac --status prints follows a set: it needs no
// permission to watch, and is refused nothing.
func TestRolesOfStatusSuffice(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "set-reader")
	const account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: set-reader}\n"
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf(account+account, "a", "b")), 0o600))
	set := []string{"-f", file, "-n", "set-reader", "--applyset", "configmap/shop"}
	code, output := ordapplyWith(cluster.Kubeconfig, append([]string{"apply"}, set...)...)
	require.Equal(t, report.ExitDone, code, output)
	roles := printedRoles(t, append(set, "--status", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/reader")...)
	require.NotContains(t, roles, "watch")
	require.Contains(t, roles, "resources: [configmaps], resourceNames: [shop], verbs: [create, get, list, patch]")
	proxy := recorder.Start(t, deployer(t, cluster, "reader", roles))
	f := follow(t, proxy.Kubeconfig, "configmap/shop", "-n", "set-reader")
	awaitLine(t, f.out, "all         2/2    Healthy")
	awaitMetadataPolls(t, proxy)
	cluster.Kubectl(t, "delete", "serviceaccount", "a", "-n", "set-reader")
	awaitLine(t, f.out, "(no layer): Degraded, 1/2 ready")
	f.interrupt()
	require.Equal(t, report.ExitInterrupted, <-f.ended)
	require.Empty(t, refusals(proxy.Requests()))
}

// An account with exactly the Roles that rbac --applyset --status prints without manifests reads
// the status, the tree and the history of a set, and may write nothing.
func TestRolesOfReadersSuffice(t *testing.T) {
	cluster := shared.Get(t)
	applyWeb(t, cluster, "only-reader", `
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: only-reader}
stringData: {password: hunter2}
`)
	roles := printedRoles(t, "-n", "only-reader", "--applyset", "shop", "--status", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/only-reader")
	require.NotRegexp(t, "create|patch|update|delete", roles)
	proxy := recorder.Start(t, deployer(t, cluster, "only-reader", roles))
	for _, command := range [][]string{{"status", "shop"}, {"status", "shop", "--tree"}, {"history", "shop"}, {"history", "shop", "--revision", "1"}, {"history", "show", "shop", "1"}} {
		code, output := ordapplyWith(proxy.Kubeconfig, append(command, "-n", "only-reader")...)
		require.Equal(t, report.ExitDone, code, "%v: %s", command, output)
	}
	require.Empty(t, refusals(proxy.Requests()))
}

// An account with exactly the Roles that rbac --status prints sees the tree of a set, down to the
// Pods of a Job of a CronJob, also where the Roles are not for diagnoses.
func TestRolesOfATreeSuffice(t *testing.T) {
	cluster := shared.Get(t)
	file := applyWeb(t, cluster, "tree-reader", `
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: tree-reader}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: nightly, image: nightly}]}}}}
`)
	roles := printedRoles(t, "-f", file, "-n", "tree-reader", "--applyset", "shop", "--status", "--diagnosis=false", "--kubeconfig", cluster.Kubeconfig, "--service-account", "default/tree-reader")
	proxy := recorder.Start(t, deployer(t, cluster, "tree-reader", roles))
	code, output := ordapplyWith(proxy.Kubeconfig, "status", "shop", "-n", "tree-reader", "--tree")
	require.Equal(t, report.ExitDone, code, output)
	require.Empty(t, refusals(proxy.Requests()))
}

// applyWeb applies Deployment web and more manifests as apply set shop to a new namespace, and
// returns their file.
func applyWeb(t *testing.T, cluster *testcluster.Cluster, namespace, more string) string {
	cluster.Kubectl(t, "create", "namespace", namespace)
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: `+namespace+`}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}`+more), 0o600))
	code, output := ordapplyWith(cluster.Kubeconfig, "apply", "-f", file, "-n", namespace, "--applyset", "shop")
	require.Equal(t, report.ExitDone, code, output)
	return file
}
