package set

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// openShop opens the set of the store, as a run does.
func openShop(t *testing.T, cluster kube.Cluster) *Set {
	t.Helper()
	set, err := Open(t.Context(), cluster, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}, false)
	require.NoError(t, err)
	return set
}

// promised returns the kinds of the set's parent.
func promised(t *testing.T, cluster *memcluster.Store) string {
	t.Helper()
	return cluster.At("secrets/shop/shop").GetAnnotations()[applyset.GroupKindsAnnotation]
}

// slowNetwork is one client's connection to a store that several clients use: it delivers
// its writes when deliver is called.
type slowNetwork struct {
	*memcluster.Store
	deliver func() error
}

func (c *slowNetwork) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	c.deliver = func() error { _, err := c.Store.Apply(ctx, kind, obj, o); return err }
	return nil, context.DeadlineExceeded
}

// A write that a run sent while it had the lock may arrive after another run
// has written the parent: the other run's kinds remain.
func TestALateWriteOfTheParentChangesNothing(t *testing.T) {
	a, b, c := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, object.ID{Kind: "Service", Namespace: "shop", Name: "b"}, object.ID{Kind: "ServiceAccount", Namespace: "shop", Name: "c"}
	for name, send := range map[string]func(*Set) error{
		"narrow": func(s *Set) error { return s.Narrow(t.Context(), []object.ID{b}, nil) },
		"widen":  func(s *Set) error { return s.Widen(t.Context(), []object.ID{b}) },
	} {
		for outcome, meanwhile := range map[string]func(*testing.T, *memcluster.Store){
			"written": func(t *testing.T, cluster *memcluster.Store) {
				require.NoError(t, openShop(t, cluster).Widen(t.Context(), []object.ID{c}))
			},
			"deleted": deleteParent,
			"made anew": func(t *testing.T, cluster *memcluster.Store) {
				deleteParent(t, cluster)
				require.NoError(t, openShop(t, cluster).Widen(t.Context(), []object.ID{a, c}))
			},
		} {
			t.Run(name+", "+outcome, func(t *testing.T) {
				cluster := memcluster.New()
				require.NoError(t, openShop(t, cluster).Widen(t.Context(), []object.ID{a}))
				network := &slowNetwork{Store: cluster}
				require.Error(t, send(openShop(t, network)))
				meanwhile(t, cluster)
				before := cluster.At("secrets/shop/shop")
				require.True(t, apierrors.IsConflict(network.deliver()))
				require.Equal(t, before, cluster.At("secrets/shop/shop"))
			})
		}
	}
}

// Where the parent was changed since it was read, a run that has the lock
// reads it again: additions are kept, and changes outside the set's fields do
// not matter.
func TestAParentThatWasChangedIsWrittenAgain(t *testing.T) {
	a, b, c := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, object.ID{Kind: "Service", Namespace: "shop", Name: "b"}, object.ID{Kind: "ServiceAccount", Namespace: "other", Name: "c"}
	cluster := memcluster.New()
	require.NoError(t, openShop(t, cluster).Widen(t.Context(), []object.ID{a}))

	set := openShop(t, cluster)
	live := cluster.At("secrets/shop/shop")
	live.SetLabels(map[string]string{applyset.IDLabel: set.Parent.SetID(), "team": "web"})
	cluster.Add(kube.CoreKind("secrets"), live)
	writes := len(cluster.Log)
	require.NoError(t, set.Widen(t.Context(), []object.ID{b}))
	require.Equal(t, []string{"apply secrets/shop", "apply secrets/shop"}, cluster.Log[writes:], "one more than without that")
	require.Equal(t, "ConfigMap,Service", promised(t, cluster))

	require.NoError(t, openShop(t, cluster).Widen(t.Context(), []object.ID{c}))
	require.NoError(t, set.Narrow(t.Context(), []object.ID{b}, nil))
	require.Equal(t, "Service,ServiceAccount", promised(t, cluster), "what was promised since is kept, and what is gone is not")
	require.Equal(t, []string{"other"}, set.Parent.Namespaces)
	require.Equal(t, contentsDigest(set.Parent), cluster.At("secrets/shop/shop").GetAnnotations()[DigestAnnotation])

	writes = len(cluster.Log)
	require.NoError(t, set.Narrow(t.Context(), []object.ID{b}, nil))
	require.Len(t, cluster.Log[writes:], 1, "what was written is known")

	live = cluster.At("secrets/shop/shop")
	live.SetAnnotations(map[string]string{applyset.ToolingAnnotation: KubectlTooling})
	cluster.Add(kube.CoreKind("secrets"), live)
	require.EqualError(t, set.Widen(t.Context(), []object.ID{a}), "write the parent of apply set Secret shop/shop: "+KubectlTooling+" took it over in the meantime: use that tool, or run this again with --take-over")
}

// deleteParent deletes the parent of the set by hand.
func deleteParent(_ *testing.T, cluster *memcluster.Store) { cluster.Drop("secrets/shop/shop") }

// A parent without the label of its set was edited too. One of a kind with
// other uses is rejected.
func TestAParentWithoutItsLabelWasChanged(t *testing.T) {
	parent := applyset.Parent{ID: object.ID{Group: "applysets.example.com", Kind: "ApplySet", Name: "wide"}, Tooling: applyset.Tooling}
	set := &Set{Parent: parent, version: "v1"}
	live := set.manifest(parent)
	_, err := set.readContents(live)
	require.NoError(t, err)
	require.NotEqual(t, parentEdited, set.damage)
	live.SetLabels(nil)
	_, err = set.readContents(live)
	require.NoError(t, err)
	require.Equal(t, parentEdited, set.damage)
}
