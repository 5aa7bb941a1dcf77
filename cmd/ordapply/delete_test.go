package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

func deleteThrough(kubeconfig string, stream []byte, more ...string) (code int, out, output string) {
	var stdout, stderr bytes.Buffer
	args := append([]string{"delete", "-f", "-", "--kubeconfig", kubeconfig, "--wave-timeout", "3m"}, more...)
	code = run(context.Background(), args, bytes.NewReader(stream), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestDelete(t *testing.T) {
	cluster := shared.Get(t)
	t.Run("is the reverse of apply", func(t *testing.T) { t.Parallel(); deleteInReverse(t, cluster) })
	t.Run("spares what took its place", func(t *testing.T) { t.Parallel(); deleteSpares(t, cluster) })
	t.Run("through faults", func(t *testing.T) { t.Parallel(); deleteThroughFaults(t, cluster) })
	t.Run("answered by a proxy", func(t *testing.T) { t.Parallel(); deleteAnsweredByAProxy(t, cluster) })
	t.Run("interrupted", func(t *testing.T) { t.Parallel(); deleteInterrupted(t, cluster) })
	for _, k := range []int32{1, 3, 5} {
		t.Run(fmt.Sprint("killed at delete ", k), func(t *testing.T) { t.Parallel(); deleteKilled(t, cluster, k) })
	}
}

// deleteInReverse: the example is deleted in reverse: no request for a layer's
// objects before every object of later layers is gone, and the Namespace last.
func deleteInReverse(t *testing.T, cluster *testcluster.Cluster) {
	stream, order := shopStream(t, "reversed"), filepath.Join("..", "..", "examples", "shop", "order.yaml")
	code, output := applyThrough(cluster.Kubeconfig, stream, "--order", order)
	require.Equal(t, report.ExitDone, code, output)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, out, output := deleteThrough(proxy.Kubeconfig, stream, "--order", order, "--prune-namespaces")
	require.Equal(t, report.ExitDone, code, output)
	require.NotContains(t, out, "kept")
	var deleted []string
	for _, r := range proxy.Requests() {
		if r.Verb == "delete" && r.Code < 300 {
			deleted = append(deleted, r.Resource+"/"+r.Name)
		}
	}
	layers := [][]string{
		{"campaigns/autumn", "deployments/web", "services/web", "horizontalpodautoscalers/web"},
		{"deployments/api", "services/api"},
		{"jobs/migrate"},
		{"statefulsets/database", "services/database", "deployments/queue", "services/queue"},
		{"networkpolicies/inside-only"},
		{"namespaces/reversed", "customresourcedefinitions/campaigns.shop.example"},
	}
	last := -1
	for _, layer := range layers {
		first, end := len(deleted), -1
		for _, name := range layer {
			at := slices.Index(deleted, name)
			require.GreaterOrEqual(t, at, 0, "%s was not deleted: %v", name, deleted)
			first, end = min(first, at), max(end, at)
		}
		require.Greater(t, first, last, "%v is deleted too early: %v", layer, deleted)
		last = end
	}
	for _, kind := range []string{"namespace/reversed", "crd/campaigns.shop.example"} {
		gone, err := cluster.TryKubectl("get", kind)
		require.Error(t, err, gone)
	}
}

// shopStream returns the example in a namespace, without its transformer: the order is passed
// with --order.
func shopStream(t *testing.T, namespace string) []byte {
	t.Helper()
	dir := t.TempDir()
	example := filepath.Join("..", "..", "examples", "shop")
	require.NoError(t, os.CopyFS(dir, os.DirFS(example)))
	file := filepath.Join(dir, "kustomization.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	head, _, found := strings.Cut(string(text), "transformers:")
	require.True(t, found)
	head = strings.Replace(head, "namespace: shop", "namespace: "+namespace, 1)
	require.NoError(t, os.WriteFile(file, []byte(head), 0o644))
	kustomize, err := testcluster.Find("kustomize")
	if err != nil {
		testcluster.Skip(t, "the kustomize command (run `make kustomize`)")
	}
	stream, err := exec.Command(kustomize, "build", dir).Output()
	require.NoError(t, err)
	return stream
}

// deleteThroughFaults: failed requests are retried, and objects that may not be
// watched are read.
func deleteThroughFaults(t *testing.T, cluster *testcluster.Cluster) {
	stream := func(namespace string) []byte {
		return []byte(strings.ReplaceAll(`apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: c, envFrom: [{configMapRef: {name: settings}}]}]}
`, "NAMESPACE", namespace))
	}
	deletes := recorder.Verb("delete", "")
	for name, inject := range map[string]func(*recorder.Request) recorder.Fault{
		"resets":            recorder.Times(4, deletes, recorder.Reset),
		"server-errors":     recorder.Times(3, deletes, recorder.Status(500, "InternalError", "etcdserver: leader changed")),
		"too-many-requests": recorder.Times(3, deletes, recorder.TooManyRequests("1")),
		"watches-forbidden": recorder.Always(recorder.Verb("watch", ""), recorder.Status(403, "Forbidden", "may not watch")),
		"watches-expire":    recorder.Times(3, recorder.Verb("watch", ""), recorder.Expired),
		"lists-forbidden": recorder.Times(2, recorder.Verb("list", "configmaps"), recorder.Status(403, "Forbidden",
			`configmaps is forbidden: User "x" cannot list resource "configmaps" in API group "" in the namespace "y"`)),
	} {
		t.Run(name, func(t *testing.T) {
			code, output := applyThrough(cluster.Kubeconfig, stream(name))
			require.Equal(t, report.ExitDone, code, output)
			proxy := recorder.Start(t, cluster.Kubeconfig)
			proxy.Inject(inject)
			code, out, output := deleteThrough(proxy.Kubeconfig, stream(name))
			require.Equal(t, report.ExitDone, code, output)
			blind := name == "lists-forbidden" // so the contents of the Namespace could not be read
			require.Equal(t, blind, strings.Contains(out, "kept"), out)
			proxy.Inject(nil)
			code, _, output = deleteThrough(proxy.Kubeconfig, stream(name))
			require.Equal(t, report.ExitDone, code, output)
			gone, err := cluster.TryKubectl("get", "namespace", name)
			require.Error(t, err, gone)
		})
	}
}

// deleteSpares: if a user recreates an object between the list and the DELETE,
// the new object is not deleted. One that only changed is read again and
// deleted.
func deleteSpares(t *testing.T, cluster *testcluster.Cluster) {
	stream := []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: replaced, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: changed, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: protected, namespace: default}
`)
	code, output := applyThrough(cluster.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	var first atomic.Int32
	proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Verb != "delete" || first.Add(1) > 3 {
			return nil
		}
		switch r.Name {
		case "replaced":
			cluster.Kubectl(t, "delete", "configmap", "replaced")
			cluster.Kubectl(t, "create", "configmap", "replaced")
		case "changed":
			cluster.Kubectl(t, "label", "configmap", "changed", "changed=yes")
		case "protected":
			cluster.Kubectl(t, "annotate", "configmap", "protected", "ordapply.dev/lifecycle=keep")
		}
		return nil
	})
	code, out, output := deleteThrough(proxy.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
	require.Contains(t, out, "configmap/replaced kept\n")
	require.Contains(t, output, "kept: another object has taken its name since this run read it")
	require.Contains(t, out, "configmap/changed deleted\n")
	require.Contains(t, out, "configmap/protected kept\n")
	require.Contains(t, output, "kept: its annotation ordapply.dev/lifecycle: keep protects it")
	cluster.Kubectl(t, "get", "configmap", "replaced", "protected")
}

// A broken APIService blocks the deletion of every Namespace. The message names
// it with a remedy; if the run also deletes the APIService, it does so before
// the Namespace.
func TestDeleteNamesTheBrokenAPIService(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t) // its own, since no Namespace can be deleted there in the meantime
	namespace := `apiVersion: v1
kind: Namespace
metadata: {name: stuck}
`
	service := `---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.broken.example}
spec:
  group: broken.example
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: nobody, namespace: default}
`
	cluster.Kubectl(t, "create", "namespace", "stuck")
	broken := filepath.Join(t.TempDir(), "service.yaml")
	require.NoError(t, os.WriteFile(broken, []byte(service), 0o644))
	cluster.Kubectl(t, "apply", "-f", broken)
	cluster.Kubectl(t, "wait", "apiservice/v1.broken.example", "--for=condition=Available=false", "--timeout=60s")
	cluster.Kubectl(t, "delete", "namespace", "stuck", "--wait=false")
	cluster.Kubectl(t, "wait", "namespace/stuck", "--for=condition=NamespaceDeletionDiscoveryFailure", "--timeout=120s")
	code, _, output := deleteThrough(cluster.Kubeconfig, []byte(namespace), "--wave-timeout", "20s")
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Contains(t, output, "error: wave 1/1 (prerequisites): delete Namespace stuck: not gone after 20s (--wave-timeout): waiting until it is gone (blocked by NamespaceDeletionDiscoveryFailure: ")
	require.Contains(t, output, "APIService v1.broken.example is not available (ServiceNotFound)")
	require.Contains(t, output, "kubectl delete apiservice v1.broken.example\n")

	// The contents of a Namespace that is not terminating cannot be determined:
	// it is kept.
	cluster.Kubectl(t, "create", "namespace", "untold")
	untold := "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: untold}\n"
	code, out, output := deleteThrough(cluster.Kubeconfig, []byte(untold))
	require.Equal(t, report.ExitDone, code, output)
	require.Equal(t, "namespace/untold kept\n", out)
	require.Regexp(t, `Namespace untold +kept: its contents cannot be read: the objects of broken\.example/v1, which an APIService registers, cannot be listed: .*; --prune-namespaces deletes it with all its contents\n`, output)
	require.Empty(t, cluster.Kubectl(t, "get", "namespace", "untold", "-o", "jsonpath={.metadata.deletionTimestamp}"))

	code, _, output = deleteThrough(cluster.Kubeconfig, []byte(namespace+untold+service))
	require.Equal(t, report.ExitDone, code, output)
	require.Regexp(t, `Namespace untold +deleted`, output)
	require.Regexp(t, `(?s)wave 1/2[^:]*: .*APIService v1.broken.example +deleted.*wave 2/2[^:]*: .*Namespace stuck +deleted`, output)
}

// deleteKilled: after a kill at any DELETE the next run finishes the work.
func deleteKilled(t *testing.T, cluster *testcluster.Cluster, k int32) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	namespace := fmt.Sprintf("killed-%d", k)
	stream := faultStream(namespace)
	code, output := applyThrough(cluster.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	cmd := exec.Command(bin, "delete", "-f", "-", "--kubeconfig", proxy.Kubeconfig)
	cmd.Stdin = bytes.NewReader(stream)
	var arrived atomic.Int32
	err = proxy.RunSignalled(cmd, os.Kill, func(r *recorder.Request) bool { return r.Verb == "delete" && arrived.Add(1) == k })
	require.Error(t, err, "it was killed at one of its five deletions")
	proxy.Inject(nil)
	code, out, output := deleteThrough(proxy.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
	require.NotContains(t, out, "kept")
	gone, err := cluster.TryKubectl("get", "namespace", namespace)
	require.Error(t, err, gone)
}

// deleteInterrupted: the first interrupt lets pending requests finish and
// reports that the work is incomplete.
func deleteInterrupted(t *testing.T, cluster *testcluster.Cluster) {
	stream := faultStream("halted")
	code, output := applyThrough(cluster.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	ctx, cancel := context.WithCancel(t.Context())
	proxy.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Verb == "delete" {
			cancel()
		}
		return nil
	})
	var out, err bytes.Buffer
	code = run(ctx, []string{"delete", "-f", "-", "--kubeconfig", proxy.Kubeconfig}, bytes.NewReader(stream), &out, &err)
	require.Equal(t, report.ExitInterrupted, code, err.String())
	require.Contains(t, err.String(), "error: interrupted: no further resource was started; run the same command again to finish")
	cluster.Kubectl(t, "get", "namespace", "halted")
	proxy.Inject(nil)
	code, _, output = deleteThrough(proxy.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, output)
}
