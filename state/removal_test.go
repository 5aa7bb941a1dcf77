package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// kubectl rejects a set with a kind that is not served: the kind is removed
// from the set before its definition is deleted.
func TestKindLeavesThePromiseBeforeItsDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "Gear.example.com shop/one"))
		set, err := Open(t.Context(), cluster, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, shopSet, false)
		require.NoError(t, err)
		crd := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Gear"}},
		}}
		crd.SetName("gears.example.com")
		crd.SetLabels(cluster.at("configmaps/shop/a").GetLabels())
		crd.SetManagedFields(cluster.at("configmaps/shop/a").GetManagedFields())
		kind, _ := cluster.Kind(crd.GroupVersionKind())
		kind.Namespaced = false
		crd = cluster.add(kind, crd)
		id := apply.Meta(crd).ID
		require.NoError(t, set.Widen(t.Context(), []object.ID{id}))
		require.Contains(t, cluster.promise(t), "Gear.example.com")

		promised := ""
		cluster.refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "delete" && name == crd.GetName() {
				promised = cluster.promise(t)
			}
			return nil
		}
		remover := memberDeletion{
			set: set, history: History{Cluster: cluster, Parent: set.Parent}, remover: apply.Remover{Cluster: cluster, NoWait: true},
			keepReason: func(object.ID) string { return "" }, onPlanned: func(*ordering.Deletion) {},
		}
		_, err = remover.run(t.Context(), map[object.ID]*unstructured.Unstructured{id: crd})
		require.NoError(t, err)
		require.Equal(t, "ConfigMap,CustomResourceDefinition.apiextensions.k8s.io", promised)
		require.Nil(t, cluster.at("customresourcedefinitions.apiextensions.k8s.io//gears.example.com"))
	})
}

// The newest revision that contains any of the objects is taken as a whole,
// because its rules may refer to all of its resources; an older one adds what
// is missing.
func TestNewestRevisionIsTakenWhole(t *testing.T) {
	named := func(names ...string) (out []ordering.Resource) {
		for _, name := range names {
			out = append(out, ordering.Resource{Meta: object.Meta{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}}})
		}
		return out
	}
	missing := map[object.ID]*unstructured.Unstructured{}
	for _, r := range named("a", "old", "oldest") {
		missing[r.ID] = &unstructured.Unstructured{}
	}
	newest := Revision{Resources: named("a", "stays"), Options: ordering.Options{SkipHooks: true}}
	past := withMissing(Revision{}, Revision{Resources: named("of no use")}, missing)
	require.Empty(t, past.Resources)
	past = withMissing(past, newest, missing)
	past = withMissing(past, Revision{Resources: named("a", "old", "other")}, missing)
	require.Equal(t, named("a", "stays", "old"), past.Resources)
	require.True(t, past.Options.SkipHooks)
	require.Len(t, missing, 1, "none holds the oldest")
}

// A revision that is deleted between its listing and its reading, as in a
// terminating Namespace, does not block the deletion.
func TestRevisionGoesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		cluster.refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "get" && name == "ordapply.shop.v1" {
				cluster.drop("secrets/shop/ordapply.shop.v1")
			}
			return nil
		}
		_, err := SetDeletion{
			Cluster: cluster, Parent: shopSet, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Remover: apply.Remover{Cluster: cluster},
		}.Do(t.Context())
		require.NoError(t, err)
		require.Contains(t, deletions(cluster), "configmaps/a")
	})
}
