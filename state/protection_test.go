package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// protect annotates a live object.
func protect(cluster *memcluster.Store, name, key, value string) {
	live := cluster.At(memcluster.Key(kube.CoreKind("configmaps"), "shop", name)).DeepCopy()
	annotations := live.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	live.SetAnnotations(annotations)
	cluster.Add(kube.CoreKind("configmaps"), live)
}

// A protected member leaves the set with the prune that would have deleted it: it carries
// no claim of the set, and the next prune does not report it again.
func TestPruneReleasesWhatIsProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/kept", "ConfigMap shop/gone"))
		protect(cluster, "kept", "kustomize.toolkit.fluxcd.io/prune", "disabled")
		summary, err := runOf(t, cluster, "ConfigMap shop/a").Do(t.Context())
		require.NoError(t, err)
		require.Len(t, summary.Results, 3)
		require.Nil(t, cluster.At(memcluster.Key(kube.CoreKind("configmaps"), "shop", "gone")))
		kept := cluster.At(memcluster.Key(kube.CoreKind("configmaps"), "shop", "kept"))
		require.Empty(t, applyset.Owner(kept))
		require.NotContains(t, kept.GetAnnotations(), applyset.AppliedAnnotation)
		require.Empty(t, applyset.LabelManagers(kept))
		require.NotContains(t, cluster.Members(), "configmaps/kept")
		summary, err = runOf(t, cluster, "ConfigMap shop/a").Do(t.Context())
		require.NoError(t, err)
		require.Len(t, summary.Results, 1)
	})
}

// A protection counts for the removal that it names: Argo CD's Delete=false does not keep a
// resource from a prune, nor Prune=false from the deletion of the set.
func TestProtectionsFromOneRemoval(t *testing.T) {
	for option, want := range map[string]struct{ pruned, deleted bool }{
		"Prune=false": {false, true}, "Delete=false": {true, false}, "Prune=false,Delete=false": {false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			cluster, key := memcluster.New(), memcluster.Key(kube.CoreKind("configmaps"), "shop", "b")
			done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
			protect(cluster, "b", "argocd.argoproj.io/sync-options", option)
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			require.Equal(t, want.pruned, cluster.At(key) == nil, option)
		})
		synctest.Test(t, func(t *testing.T) {
			cluster, key := memcluster.New(), memcluster.Key(kube.CoreKind("configmaps"), "shop", "b")
			r := runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b")
			done(t, r)
			protect(cluster, "b", "argocd.argoproj.io/sync-options", option)
			_, err := SetDeletion{SetRef: r.SetRef, Remover: remove.Remover{Cluster: cluster}}.Do(t.Context())
			require.NoError(t, err)
			left := cluster.At(key)
			require.Equal(t, want.deleted, left == nil, option)
			if left != nil {
				require.Empty(t, applyset.Owner(left))
			}
		})
	}
}
