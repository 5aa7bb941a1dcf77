package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

// widget is an unplaced custom resource. kubectl rejects it in the same stream
// as its CRD in any order, since it resolves all kinds first.
const widget = `---
apiVersion: unplaced.example.com/v1
kind: Widget
metadata: {name: one, namespace: unplaced}
`

// TestUnplacedGoFirst applies a stream in which only workloads have a layer, with kubectl
// in text order and with each tool that emit supports. Nothing is rejected, everything
// becomes ready, and a workload's prerequisites were created before it.
func TestUnplacedGoFirst(t *testing.T) {
	kustomize, kapp, kapply := peer(t, "kustomize"), peer(t, "kapp"), peer(t, "kapply")
	cluster := testcluster.Start(t)
	t.Run("kubectl", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(unplaced(t, "by-kubectl", "")), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: [app.yaml]\n"), 0o644))
		built, err := exec.Command(kustomize, "build", dir).Output()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stream.yaml"), stamped(t, string(built)), 0o644))
		runPeer(t, cluster, dir, cluster.KubectlCommand("apply", "-f", filepath.Join(dir, "stream.yaml")))
		requireUnplacedReady(t, cluster, "by-kubectl")
	})
	for namespace, work := range map[string]emitReader{"use-kapp": kappReader(kapp), "use-kapply": kapplyReader(kapply)} {
		t.Run(namespace, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "stream.yaml"), stamped(t, unplaced(t, namespace, widget)), 0o644))
			for _, command := range work.apply {
				if command[1] == "apply" {
					command = append(command, "--reconcile-timeout", "1m") // the last one is used
				}
				out, err := tryPeer(cluster, dir, command)
				if err != nil && missedItsCRD(out, namespace) {
					out, err = tryPeer(cluster, dir, command)
				}
				require.NoError(t, err, out)
			}
			requireUnplacedReady(t, cluster, namespace)
			cluster.Kubectl(t, "get", "widgets."+namespace+".example.com", "one", "-n", namespace)
		})
	}
}

// missedItsCRD reports whether everything was applied and kapply saw everything become
// ready but the custom resource. cli-utils may open its watches before the API server
// serves the kind that the same run defines, and then hears nothing of it; a second run
// does.
func missedItsCRD(out, namespace string) bool {
	return strings.Contains(out, "widget."+namespace+".example.com/one reconcile timeout") && strings.Contains(out, " 0 failed, 1 timed out")
}

// requireUnplacedReady requires every workload to be ready, its claim bound, and its
// prerequisites created before it.
func requireUnplacedReady(t *testing.T, cluster *testcluster.Cluster, namespace string) {
	t.Helper()
	cluster.Kubectl(t, "wait", "-n", namespace, "deployment/database", "deployment/web", "--for=condition=Available", "--timeout=60s")
	cluster.Kubectl(t, "wait", "-n", namespace, "job/migrate", "--for=condition=Complete", "--timeout=60s")
	cluster.Kubectl(t, "wait", "-n", namespace, "pvc/data", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
	log, err := auditlog.Read(cluster.AuditLog())
	require.NoError(t, err)
	created := func(resource, name string) time.Time {
		key := auditlog.Key{Resource: resource, Namespace: namespace, Name: name}
		require.Contains(t, log.Created, key)
		return log.Created[key]
	}
	for _, use := range [][4]string{
		{"secrets", "password", "deployments", "database"},
		{"secrets", "password", "jobs", "migrate"},
		{"deployments", "database", "jobs", "migrate"},
		{"jobs", "migrate", "deployments", "web"},
		{"configmaps", "web", "deployments", "web"},
		{"serviceaccounts", "web", "deployments", "web"},
		{"rolebindings", "web", "deployments", "web"},
		{"roles", "web", "rolebindings", "web"},
	} {
		require.True(t, created(use[0], use[1]).Before(created(use[2], use[3])), "%s %s was created before %s %s", use[2], use[3], use[0], use[1])
	}
}

// unplaced returns the stream of the case unplaced in a namespace, with more
// documents.
func unplaced(t *testing.T, namespace, more string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cases, "unplaced", "stream.yaml"))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text)+more, "unplaced", namespace)
}

// stamped returns a stream stamped with the order of both cases, with annotations
// for kapp and kpt.
func stamped(t *testing.T, stream string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cases, "placed", "order.yaml"))
	require.NoError(t, err)
	order := filepath.Join(t.TempDir(), "order.yaml")
	require.NoError(t, os.WriteFile(order, append(text, "emit: [kapp, kpt]\n"...), 0o600))
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"--order", order}, strings.NewReader(stream), &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String())
	return stdout.Bytes()
}
