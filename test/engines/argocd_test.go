package engines

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

// exportToArgoCD exports a stream under a name.
func exportToArgoCD(t *testing.T, a *ArgoCD, form, name string, stream []byte, args ...string) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	ordapply(t, stream, append([]string{"export", "--to", "argocd", "--form", form, "--name", name, "--source", a.Repository(name), "--source-kind", "GitRepository", "-o", tree}, args...)...)
	return tree
}

// applications counts the Applications that a tree makes.
func applications(t *testing.T, form, tree string) int {
	t.Helper()
	layers, err := filepath.Glob(filepath.Join(tree, "layers", "*"))
	require.NoError(t, err)
	return map[string]int{"application": 1, "app-of-apps": len(layers) + 1, "applicationset": len(layers)}[form]
}

// forms are the forms of an export.
func forms() []string { return []string{"application", "app-of-apps", "applicationset"} }

// The subtests share a cluster, each with its own namespace.
func TestArgoCD(t *testing.T) {
	cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
	argocd := StartArgoCD(t, cluster)
	t.Run("shared", func(t *testing.T) {
		t.Run("a custom resource holds the gate until its status says so", func(t *testing.T) {
			t.Parallel()
			after := configMap("gizmo", "after")
			argocd.Publish(t, exportToArgoCD(t, argocd, "application", "gizmo", inNamespace(gizmoStream, "gizmo")), "gizmo")
			wait(t, 2*time.Minute, func() bool { return exists(cluster, "gizmo", "gizmo", "g") }, argocd.status)
			staysUnwritten(t, cluster, 0, after, 10*time.Second)
			cluster.Kubectl(t, "patch", "gizmo", "-n", "gizmo", "g", "--subresource=status", "--type=merge", "-p", `{"status":{"level":"high"}}`)
			untilIsWritten(t, cluster, 0, after, 2*time.Minute, argocd.status)
		})
		t.Run("without its health check it does not", func(t *testing.T) {
			t.Parallel()
			tree := exportToArgoCD(t, argocd, "application", "gadget", inNamespace(strings.ReplaceAll(gizmoStream, "izmo", "adget"), "gadget"))
			require.NoError(t, os.Remove(filepath.Join(tree, "argocd", "argocd-cm.yaml")))
			argocd.Publish(t, tree, "gadget")
			untilIsWritten(t, cluster, 0, configMap("gadget", "after"), 2*time.Minute, argocd.status)
		})
		t.Run("a claim goes with its Pod", func(t *testing.T) {
			t.Parallel()
			argocd.Publish(t, exportToArgoCD(t, argocd, "application", "claim", []byte(claimStream)), "claim")
			argocd.UntilSynced(t, "claim", 1, 3*time.Minute)
		})
		t.Run("a wave of 1.5 is wave 0", func(t *testing.T) {
			t.Parallel()
			stream, from := inNamespace(layersStream, "half"), logSize(t, cluster)
			tree := exportToArgoCD(t, argocd, "application", "half", stream)
			edit(t, tree, "layers/web/configmap-half-after.yaml", `sync-wave: "2"`, `sync-wave: "1.5"`)
			argocd.Publish(t, tree, "half")
			argocd.UntilSynced(t, "half", 1, 3*time.Minute)
			cluster.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", "half", "deployment/db")
			requireBroken(t, cluster, planOf(t, stream), from, argocd.Agent())
		})
		for _, form := range forms() {
			t.Run("nothing comes after a layer that fails: "+form, func(t *testing.T) {
				t.Parallel()
				name := "failing-" + form
				argocd.Publish(t, exportToArgoCD(t, argocd, form, name, failingStream(name)), name)
				wait(t, 2*time.Minute, func() bool { return exists(cluster, "deployment", name, "db") }, argocd.status)
				staysUnwritten(t, cluster, 0, configMap(name, "after"), 15*time.Second)
				if form != "applicationset" { // which has no operation of its own
					require.Contains(t, argocd.status(), name+" OutOfSync Running")
				}
			})
			t.Run("a new revision: "+form, func(t *testing.T) {
				t.Parallel()
				name := "again-" + form
				first, second := revisions(name)
				tree := exportToArgoCD(t, argocd, form, name, first, "--source-ref", "v1")
				argocd.Publish(t, tree, name)
				argocd.UntilSynced(t, name, applications(t, form, tree), 4*time.Minute)
				from := logSize(t, cluster)
				argocd.Republish(t, exportToArgoCD(t, argocd, form, name, second, "--source-ref", "v2"), name, "v2")
				untilIsWritten(t, cluster, from, configMap(name, "after"), 3*time.Minute, argocd.status)
				if form == "applicationset" { // whose order in a new revision is not claimed: see the notes of the export
					untilIsWritten(t, cluster, from, auditlog.Key{Resource: "deployments", Namespace: name, Name: "db"}, 3*time.Minute, argocd.status)
					requirePruned(t, cluster, name, argocd.status)
					return
				}
				requireRevision(t, cluster, planOf(t, second), from, argocd.Agent(), argocd.status)
			})
			t.Run("a deletion goes in reverse: "+form, func(t *testing.T) {
				t.Parallel()
				name := "gone-" + form
				stream := deletionStream(name)
				proof := deleteFromArgoCD(t, cluster, argocd, form, name, stream, func(string) {})
				require.ElementsMatch(t, []string{"Namespace/" + name, "CustomResourceDefinition/things." + name + ".example"}, proof.Missing)
				require.Empty(t, proof.Broken())
				t.Logf("%d gates in reverse", len(proof.Gates))
			})
		}
		t.Run("without its finalizer an ApplicationSet deletes all at once", func(t *testing.T) {
			t.Parallel()
			proof := deleteFromArgoCD(t, cluster, argocd, "applicationset", "hasty", deletionStream("hasty"), func(tree string) {
				edit(t, tree, "argocd/applicationset.yaml", "metadata:\n  finalizers:\n  - resources-finalizer.argocd.argoproj.io\n  name: hasty\n", "metadata:\n  name: hasty\n")
			})
			require.NotEmpty(t, proof.Broken(), "the trap is closed by something else")
		})
	})
}

// deleteFromArgoCD lets Argo CD sync a stream, deletes its Application or ApplicationSet,
// and returns the proof of the deletion.
func deleteFromArgoCD(t *testing.T, cluster *testcluster.Cluster, argocd *ArgoCD, form, name string, stream []byte, change func(tree string)) Proof {
	t.Helper()
	tree := exportToArgoCD(t, argocd, form, name, stream)
	change(tree)
	argocd.Publish(t, tree, name)
	argocd.UntilSynced(t, name, applications(t, form, tree), 4*time.Minute)
	from := logSize(t, cluster)
	kind := "application"
	if form == "applicationset" {
		kind = form
	}
	cluster.Kubectl(t, "delete", kind, "-n", "argocd", name, "--timeout=180s")
	wait(t, 2*time.Minute, func() bool { return !strings.Contains("\n"+argocd.status(), "\n"+name) }, argocd.status)
	proof, err := ProveDeletion(planOf(t, stream), cluster.AuditLog(), from, argocd.Agent())
	require.NoError(t, err)
	return proof
}

// documentedHealth is the health check of Applications that Argo CD's pages show.
const documentedHealth = `apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
data:
  resource.customizations.health.argoproj.io_Application: |
    hs = {}
    hs.status = "Progressing"
    hs.message = ""
    if obj.status ~= nil then
      if obj.status.health ~= nil then
        hs.status = obj.status.health.status
        if obj.status.health.message ~= nil then
          hs.message = obj.status.health.message
        end
      end
    end
    return hs
`

// unhealthyStream has two layers of a kind without a health check. The first cannot be
// applied until its namespace is there.
const unhealthyStream = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: first, namespace: NAMESPACE-late, annotations: {ordapply.dev/layer: o/first, ordapply.dev/wave: "0"}}
spec: {podSelector: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, namespace: default, annotations: {ordapply.dev/layer: o/second, ordapply.dev/wave: "1"}}
`

// An app-of-apps with other health checks of Applications, one after the other: they are
// of the whole Argo CD.
func TestArgoCDApplicationsWithoutHealth(t *testing.T) {
	cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
	argocd := StartArgoCD(t, cluster)
	withoutHealth := func(tree string) string {
		require.NoError(t, os.Remove(filepath.Join(tree, "argocd", "argocd-cm.yaml")))
		return tree
	}
	t.Run("with none no layer is waited for", func(t *testing.T) {
		stream, from := inNamespace(layersStream, "loose"), logSize(t, cluster)
		tree := exportToArgoCD(t, argocd, "app-of-apps", "loose", stream)
		argocd.Publish(t, withoutHealth(tree), "loose")
		argocd.UntilSynced(t, "loose", applications(t, "app-of-apps", tree), 3*time.Minute)
		cluster.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", "loose", "deployment/db")
		requireBroken(t, cluster, planOf(t, stream), from, argocd.Agent())
	})
	documented := strings.ReplaceAll(unhealthyStream, "after", "documented")
	t.Run("with the documented one a layer counts before its first sync", func(t *testing.T) {
		argocd.apply(t, documentedHealth)
		argocd.Publish(t, withoutHealth(exportToArgoCD(t, argocd, "app-of-apps", "documented", inNamespace(documented, "documented"))), "documented")
		untilIsWritten(t, cluster, 0, configMap("default", "documented"), 2*time.Minute, argocd.status)
		require.False(t, exists(cluster, "networkpolicy", "documented-late", "first"))
	})
	t.Run("with the exported one it does not", func(t *testing.T) {
		argocd.Publish(t, exportToArgoCD(t, argocd, "app-of-apps", "ours", inNamespace(unhealthyStream, "ours")), "ours")
		wait(t, 2*time.Minute, func() bool { return strings.Contains(argocd.status(), "ours-first OutOfSync") }, argocd.status)
		staysUnwritten(t, cluster, 0, configMap("default", "after"), 15*time.Second)
		cluster.Kubectl(t, "create", "namespace", "ours-late")
		untilIsWritten(t, cluster, 0, configMap("default", "after"), 4*time.Minute, argocd.status)
		require.True(t, exists(cluster, "networkpolicy", "ours-late", "first"))
	})
	// Each Application follows the branch by itself: so an export asks for a tag.
	t.Run("a branch brings a new revision to all layers at once", func(t *testing.T) {
		first, second := revisions("branch")
		tree := exportToArgoCD(t, argocd, "app-of-apps", "branch", first)
		argocd.Publish(t, tree, "branch")
		argocd.UntilSynced(t, "branch", applications(t, "app-of-apps", tree), 4*time.Minute)
		from := logSize(t, cluster)
		argocd.Republish(t, exportToArgoCD(t, argocd, "app-of-apps", "branch", second), "branch", "v2")
		untilIsWritten(t, cluster, from, configMap("branch", "after"), 2*time.Minute, argocd.status)
		time.Sleep(20 * time.Second) // until db is ready, too
		proof, err := ProveRevision(planOf(t, second), cluster.AuditLog(), from, argocd.Agent(), "db", "after")
		require.NoError(t, err)
		require.NotEmpty(t, append(proof.Broken(), proof.Missing...), "the trap is closed by something else")
	})
}

// The three forms of one stream, each on a cluster of its own, because CRDs stay.
func TestArgoCDKeepsTheOrder(t *testing.T) {
	for _, form := range forms() {
		t.Run(form, func(t *testing.T) {
			if form != "application" {
				long(t)
			}
			stream := shop(t)
			cluster := testcluster.Start(t, "--ready-after", "500ms..2s")
			argocd := StartArgoCD(t, cluster)
			from := logSize(t, cluster)
			tree := exportToArgoCD(t, argocd, form, "shop", stream)
			argocd.Publish(t, tree, "shop")
			argocd.UntilSynced(t, "shop", applications(t, form, tree), 4*time.Minute)
			cluster.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", "shop", "deployment", "--all")
			requireKept(t, cluster, planOf(t, stream), from, argocd.Agent())
		})
	}
}
