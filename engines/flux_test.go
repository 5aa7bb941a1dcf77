package engines

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/auditlog"
	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// exportToFlux exports a stream under a name; change, if not nil, changes the tree's
// Kustomizations.
func exportToFlux(t *testing.T, f *Flux, name string, stream []byte, change func(string) string) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	ordapply(t, stream, "export", "--to", "flux", "--name", name, "--source", f.Source(name), "--source-insecure", "--retry-interval", "10s", "-o", tree)
	if change != nil {
		file := filepath.Join(tree, "flux", "kustomizations.yaml")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		changed := change(string(text))
		require.NotEqual(t, string(text), changed)
		require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	}
	return tree
}

// without removes a field of the Kustomizations, with what is below it.
func without(field string) func(string) string {
	return func(text string) string {
		return regexp.MustCompile(`(?m)^  `+field+`:\n(  [- ].*\n)+`).ReplaceAllString(text, "")
	}
}

func TestFlux(t *testing.T) {
	cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
	flux := StartFlux(t, cluster)
	t.Run("examples/shop", func(t *testing.T) {
		stream := shop(t)
		from := logSize(t, cluster)
		flux.Publish(t, exportToFlux(t, flux, "shop", stream, nil), "shop")
		flux.UntilReady(t, 3*time.Minute)
		requireKept(t, cluster, planOf(t, stream), from, flux.Agent())
	})
	t.Run("a claim in an earlier layer than its Pod", func(t *testing.T) {
		stream := []byte(claimStream)
		from := logSize(t, cluster)
		flux.Publish(t, exportToFlux(t, flux, "claim", stream, nil), "claim")
		flux.UntilReady(t, 2*time.Minute)
		requireKept(t, cluster, planOf(t, stream), from, flux.Agent())
	})
	t.Run("without dependsOn the witness finds the order broken", func(t *testing.T) {
		stream := inNamespace(layersStream, "loose")
		from := logSize(t, cluster)
		flux.Publish(t, exportToFlux(t, flux, "loose", stream, without("dependsOn")), "loose")
		flux.UntilReady(t, 2*time.Minute)
		proof, err := Prove(planOf(t, stream), cluster.AuditLog(), from, flux.Agent())
		require.NoError(t, err)
		require.Empty(t, proof.Missing)
		require.NotEmpty(t, proof.Broken())
	})
	t.Run("nothing comes after a layer that fails", func(t *testing.T) {
		stream := inNamespace(strings.Replace(layersStream, "localcluster/ready-after: 5s", "localcluster/behaviour: never-ready", 1), "failing")
		flux.Publish(t, exportToFlux(t, flux, "failing", stream, nil), "failing")
		time.Sleep(45 * time.Second) // its timeout is 30s
		requireNotWritten(t, cluster, auditlog.Key{Resource: "configmaps", Namespace: "failing", Name: "after"})
		cluster.Kubectl(t, "get", "deployment", "-n", "failing", "db")
	})
	t.Run("a custom resource holds the gate until its status says so", func(t *testing.T) {
		stream := inNamespace(gizmoStream, "gizmo")
		after := auditlog.Key{Resource: "configmaps", Namespace: "gizmo", Name: "after"}
		flux.Publish(t, exportToFlux(t, flux, "gizmo", stream, nil), "gizmo")
		wait(t, time.Minute, func() bool { _, err := cluster.TryKubectl("get", "gizmo", "-n", "gizmo", "g"); return err == nil }, func() string { return "no Gizmo" })
		time.Sleep(12 * time.Second) // two polls of Flux
		requireNotWritten(t, cluster, after)
		cluster.Kubectl(t, "patch", "gizmo", "-n", "gizmo", "g", "--subresource=status", "--type=merge", "-p", `{"status":{"level":"high"}}`)
		wait(t, time.Minute, func() bool { return isWritten(t, cluster, after) }, func() string { return "the gate never opened" })
	})
	t.Run("without healthCheckExprs it does not", func(t *testing.T) {
		stream := inNamespace(strings.ReplaceAll(gizmoStream, "izmo", "adget"), "gadget")
		after := auditlog.Key{Resource: "configmaps", Namespace: "gadget", Name: "after"}
		flux.Publish(t, exportToFlux(t, flux, "gadget", stream, without("healthCheckExprs")), "gadget")
		wait(t, time.Minute, func() bool { return isWritten(t, cluster, after) }, func() string { return "the trap is closed by something else" })
	})
}

// isWritten reports whether an object was written by anybody, dry runs left out.
func isWritten(t *testing.T, cluster *testcluster.Cluster, key auditlog.Key) bool {
	t.Helper()
	requests, err := auditlog.Requests(cluster.AuditLog(), 0)
	require.NoError(t, err)
	for _, r := range requests {
		if r.Key == key && !r.DryRun && r.Code < 300 && (r.Verb == "patch" || r.Verb == "create") {
			return true
		}
	}
	return false
}

func requireNotWritten(t *testing.T, cluster *testcluster.Cluster, key auditlog.Key) {
	t.Helper()
	assert.False(t, isWritten(t, cluster, key), "%v was written", key)
}
