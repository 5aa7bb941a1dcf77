package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
	"github.com/ordapply/ordapply/test/memcluster"
)

// kubectl rejects a set with a kind that is not served: the kind is removed
// from the set before its definition is deleted.
func TestKindLeavesThePromiseBeforeItsDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "Gear.example.com shop/one"))
		set, err := set.Open(t.Context(), cluster, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, shopSet, false)
		require.NoError(t, err)
		crd := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Gear"}},
		}}
		crd.SetName("gears.example.com")
		crd.SetLabels(cluster.At("configmaps/shop/a").GetLabels())
		crd.SetManagedFields(cluster.At("configmaps/shop/a").GetManagedFields())
		kind, _ := cluster.Kind(crd.GroupVersionKind())
		kind.Namespaced = false
		crd = cluster.Add(kind, crd)
		id := kube.Meta(crd).ID
		require.NoError(t, set.Widen(t.Context(), []object.ID{id}))
		require.Contains(t, promise(t, cluster), "Gear.example.com")

		promised := ""
		cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "delete" && name == crd.GetName() {
				promised = promise(t, cluster)
			}
			return nil
		}
		remover := memberDeletion{
			set: set, history: history.History{Cluster: cluster, Parent: set.Parent}, remover: remove.Remover{Cluster: cluster, NoWait: true},
			keepReason: func(object.ID) string { return "" }, onPlanned: func(*ordering.Deletion) {},
		}
		_, err = remover.run(t.Context(), map[object.ID]*unstructured.Unstructured{id: crd})
		require.NoError(t, err)
		require.Equal(t, "ConfigMap,CustomResourceDefinition.apiextensions.k8s.io", promised)
		require.Nil(t, cluster.At("customresourcedefinitions.apiextensions.k8s.io//gears.example.com"))
	})
}

// A revision that is deleted between its listing and its reading, as in a
// terminating Namespace, does not block the deletion.
func TestRevisionIsDeletedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "get" && name == "ordapply.shop.v1" {
				cluster.Drop("secrets/shop/ordapply.shop.v1")
			}
			return nil
		}
		_, err := SetDeletion{
			SetRef: SetRef{Cluster: cluster, Parent: shopSet, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}, Remover: remove.Remover{Cluster: cluster},
		}.Do(t.Context())
		require.ErrorContains(t, err, "the apply set is not deleted: members are left unchanged, because no revision")
		require.NotContains(t, deletions(cluster), "configmaps/a", "no revision is left that contains it")
		trusting(t, cluster)
		_, err = deletionOf(cluster).Do(t.Context())
		require.NoError(t, err)
		require.Contains(t, deletions(cluster), "configmaps/a")
	})
}
