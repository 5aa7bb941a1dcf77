package engines

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// exportToFlux exports a stream under a name; change, if not nil, changes the tree's
// Kustomizations.
func exportToFlux(t *testing.T, f *Flux, name string, stream []byte, change func(string) string, args ...string) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	ordapply(t, stream, append([]string{"export", "--to", "flux", "--name", name, "--source", f.Source(name), "--source-insecure", "--retry-interval", "10s", "-o", tree}, args...)...)
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

// without removes a field of the Kustomizations, and the fields below it.
func without(field string) func(string) string {
	return func(text string) string {
		return regexp.MustCompile(`(?m)^  `+field+`:\n(  [- ].*\n)+`).ReplaceAllString(text, "")
	}
}

// The subtests share a cluster, each with its own namespace.
func TestFlux(t *testing.T) {
	cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
	flux := StartFlux(t, cluster)
	t.Run("shared", func(t *testing.T) {
		t.Run("examples/shop", func(t *testing.T) {
			t.Parallel()
			stream, from := shop(t), logSize(t, cluster)
			flux.Publish(t, exportToFlux(t, flux, "shop", stream, nil), "shop")
			flux.UntilReady(t, "shop", 4*time.Minute)
			requireKept(t, cluster, planOf(t, stream), from, flux.Agent())
		})
		t.Run("a claim in an earlier layer than its Pod", func(t *testing.T) {
			t.Parallel()
			stream, from := []byte(claimStream), logSize(t, cluster)
			flux.Publish(t, exportToFlux(t, flux, "claim", stream, nil), "claim")
			flux.UntilReady(t, "claim", 3*time.Minute)
			requireKept(t, cluster, planOf(t, stream), from, flux.Agent())
		})
		t.Run("without dependsOn the order is broken", func(t *testing.T) {
			t.Parallel()
			// Flux tries again after 10s where the namespace was not there yet.
			stream, from := inNamespace(strings.Replace(layersStream, "ready-after: 5s", "ready-after: 20s", 1), "loose"), logSize(t, cluster)
			flux.Publish(t, exportToFlux(t, flux, "loose", stream, without("dependsOn")), "loose")
			flux.UntilReady(t, "loose", 3*time.Minute)
			requireBroken(t, cluster, planOf(t, stream), from, flux.Agent())
		})
		t.Run("nothing comes after a layer that fails", func(t *testing.T) {
			t.Parallel()
			flux.Publish(t, exportToFlux(t, flux, "failing", failingStream("failing"), nil), "failing")
			wait(t, 3*time.Minute, func() bool { return strings.Contains(flux.conditions(), "failing-data: False HealthCheckFailed") }, flux.status)
			staysUnwritten(t, cluster, 0, configMap("failing", "after"), 12*time.Second)
			cluster.Kubectl(t, "get", "deployment", "-n", "failing", "db")
		})
		// The least that Flux waits is 30s, so that an export writes this for less.
		t.Run("a timeout of 10s counts as 30s", func(t *testing.T) {
			t.Parallel()
			tree := exportToFlux(t, flux, "short", failingStream("short"), func(text string) string { return strings.Replace(text, "timeout: 30s", "timeout: 10s", 1) })
			flux.Publish(t, tree, "short")
			wait(t, 2*time.Minute, func() bool { return exists(cluster, "deployment", "short", "db") }, flux.status)
			begin := time.Now()
			wait(t, 3*time.Minute, func() bool { return strings.Contains(flux.conditions(), "short-data: False HealthCheckFailed") }, flux.status)
			require.Greater(t, time.Since(begin), 25*time.Second)
		})
		t.Run("a custom resource holds the gate until its status says so", func(t *testing.T) {
			t.Parallel()
			after := configMap("gizmo", "after")
			flux.Publish(t, exportToFlux(t, flux, "gizmo", inNamespace(gizmoStream, "gizmo"), nil), "gizmo")
			wait(t, 2*time.Minute, func() bool { return exists(cluster, "gizmo", "gizmo", "g") }, flux.status)
			staysUnwritten(t, cluster, 0, after, 12*time.Second) // two polls of Flux
			cluster.Kubectl(t, "patch", "gizmo", "-n", "gizmo", "g", "--subresource=status", "--type=merge", "-p", `{"status":{"level":"high"}}`)
			untilIsWritten(t, cluster, 0, after, 2*time.Minute, flux.status)
		})
		t.Run("without healthCheckExprs it does not", func(t *testing.T) {
			t.Parallel()
			stream := inNamespace(strings.ReplaceAll(gizmoStream, "izmo", "adget"), "gadget")
			flux.Publish(t, exportToFlux(t, flux, "gadget", stream, without("healthCheckExprs")), "gadget")
			untilIsWritten(t, cluster, 0, configMap("gadget", "after"), 2*time.Minute, flux.status)
		})
		t.Run("a new revision goes through the layers again", func(t *testing.T) {
			t.Parallel()
			first, second := revisions("again")
			flux.Publish(t, exportToFlux(t, flux, "again", first, nil), "again")
			flux.UntilReady(t, "again", 3*time.Minute)
			from := logSize(t, cluster)
			flux.Republish(t, exportToFlux(t, flux, "again", second, nil), "again")
			untilIsWritten(t, cluster, from, configMap("again", "after"), 3*time.Minute, flux.status)
			requireRevision(t, cluster, planOf(t, second), from, flux.Agent(), flux.status)
		})
		// No order is claimed: Flux deletes everything at once.
		t.Run("a deletion leaves nothing", func(t *testing.T) {
			t.Parallel()
			stream := deletionStream("gone")
			tree := exportToFlux(t, flux, "gone", stream, nil)
			flux.Publish(t, tree, "gone")
			flux.UntilReady(t, "gone", 3*time.Minute)
			cluster.Kubectl(t, "delete", "-f", filepath.Join(tree, "flux", "kustomizations.yaml"), "--timeout=120s")
			for _, left := range [][2]string{{"deployment", "db"}, {"deployment", "site"}, {"configmap", "after"}, {"serviceaccount", "last"}, {"crd", "things.gone.example"}} {
				wait(t, time.Minute, func() bool { return !exists(cluster, left[0], "gone", left[1]) }, func() string { return left[1] + " is still there\n" + flux.status() })
			}
			cluster.Kubectl(t, "get", "namespace", "gone") // never pruned: see the notes of the export
		})
	})
}

// requireRevision proves the order of a second revision, and that it has pruned.
func requireRevision(t *testing.T, cluster *testcluster.Cluster, plan Plan, from int64, agent string, status func() string) {
	t.Helper()
	namespace := plan.Steps[0].Name
	proof, err := ProveRevision(plan, cluster.AuditLog(), from, agent, "db", "after")
	require.NoError(t, err)
	require.Empty(t, proof.Missing)
	require.Empty(t, proof.Broken())
	requirePruned(t, cluster, namespace, status)
}

// requirePruned requires that objects missing in the second revision are pruned, and no
// others.
func requirePruned(t *testing.T, cluster *testcluster.Cluster, namespace string, status func() string) {
	t.Helper()
	wait(t, 2*time.Minute, func() bool { return !exists(cluster, "configmap", namespace, "middle") }, func() string { return "middle was not pruned\n" + status() })
	cluster.Kubectl(t, "get", "configmap", "-n", namespace, "stays")
}
