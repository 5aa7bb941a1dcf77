package engines

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/auditlog"
	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// exportToArgoCD exports a stream under a name.
func exportToArgoCD(t *testing.T, a *ArgoCD, form, name string, stream []byte) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	ordapply(t, stream, "export", "--to", "argocd", "--form", form, "--name", name, "--source", a.Repository(name), "--source-kind", "GitRepository", "-o", tree)
	return tree
}

// applications counts the Applications of a tree's layers.
func applications(t *testing.T, tree string) int {
	t.Helper()
	layers, err := filepath.Glob(filepath.Join(tree, "layers", "*"))
	require.NoError(t, err)
	return len(layers)
}

func TestArgoCD(t *testing.T) {
	cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
	argocd := StartArgoCD(t, cluster)
	t.Run("without its health check an app-of-apps is out of order", func(t *testing.T) {
		stream := inNamespace(layersStream, "loose")
		from := logSize(t, cluster)
		tree := exportToArgoCD(t, argocd, "app-of-apps", "loose", stream)
		argocd.Publish(t, tree, "loose", false)
		argocd.UntilSynced(t, "loose", applications(t, tree)+1, 2*time.Minute)
		cluster.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", "loose", "deployment/db")
		proof, err := Prove(planOf(t, stream), cluster.AuditLog(), from, argocd.Agent())
		require.NoError(t, err)
		require.Empty(t, proof.Missing)
		require.NotEmpty(t, proof.Broken())
	})
	t.Run("a custom resource holds the gate until its status says so", func(t *testing.T) {
		stream := inNamespace(gizmoStream, "gizmo")
		after := auditlog.Key{Resource: "configmaps", Namespace: "gizmo", Name: "after"}
		argocd.Publish(t, exportToArgoCD(t, argocd, "application", "gizmo", stream), "gizmo", true)
		wait(t, time.Minute, func() bool { _, err := cluster.TryKubectl("get", "gizmo", "-n", "gizmo", "g"); return err == nil }, func() string { return "no Gizmo" })
		time.Sleep(10 * time.Second)
		requireNotWritten(t, cluster, after)
		cluster.Kubectl(t, "patch", "gizmo", "-n", "gizmo", "g", "--subresource=status", "--type=merge", "-p", `{"status":{"level":"high"}}`)
		wait(t, time.Minute, func() bool { return isWritten(t, cluster, after) }, func() string { return "the gate never opened" })
	})
	t.Run("a claim goes with its Pod", func(t *testing.T) {
		argocd.Publish(t, exportToArgoCD(t, argocd, "application", "claim", []byte(claimStream)), "claim", true)
		argocd.UntilSynced(t, "claim", 1, 2*time.Minute)
	})
}

// The three forms of one stream, each on a cluster of its own, because CRDs stay.
func TestArgoCDKeepsTheOrder(t *testing.T) {
	for _, form := range []string{"application", "app-of-apps", "applicationset"} {
		t.Run(form, func(t *testing.T) {
			stream := shop(t)
			cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
			argocd := StartArgoCD(t, cluster)
			from := logSize(t, cluster)
			tree := exportToArgoCD(t, argocd, form, "shop", stream)
			argocd.Publish(t, tree, "shop", true)
			count := map[string]int{"application": 1, "app-of-apps": applications(t, tree) + 1, "applicationset": applications(t, tree)}[form]
			argocd.UntilSynced(t, "shop", count, 4*time.Minute)
			cluster.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", "shop", "deployment", "--all")
			requireKept(t, cluster, planOf(t, stream), from, argocd.Agent())
		})
	}
}
