package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// gear is the kind that the tests stop serving.
func gear() schema.GroupKind { return schema.GroupKind{Group: "example.com", Kind: "Gear"} }

// withGear returns a cluster with a set of a ConfigMap and a Gear, whose kind
// is not served from then on.
func withGear(t *testing.T) *memcluster.Store {
	t.Helper()
	cluster := memcluster.New()
	done(t, runOf(t, cluster, "ConfigMap shop/a", "Gear.example.com shop/one"))
	cluster.Gone = map[schema.GroupKind]bool{gear(): true}
	return cluster
}

// define adds the CustomResourceDefinition of Gear.
func define(t *testing.T, cluster *memcluster.Store, served bool) {
	t.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gears.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Gear", "plural": "gears"},
			"versions": []any{map[string]any{"name": "v1", "served": served, "storage": true}},
		},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}},
	}}
	kind, _ := cluster.Kind(crd.GroupVersionKind())
	cluster.Add(kind, crd)
}

func setDeletion(cluster *memcluster.Store) SetDeletion {
	return SetDeletion{SetRef: SetRef{Cluster: cluster, Parent: shopSet, Kind: corev1.SchemeGroupVersion.WithKind("Secret")}, Remover: remove.Remover{Cluster: cluster, NoWait: true}} // the store has no watches
}

// A kind whose CustomResourceDefinition serves no version still has its
// objects.
func TestKindWithoutAServedVersionStaysPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withGear(t)
		define(t, cluster, false)
		var notes []string
		run := runOf(t, cluster, "ConfigMap shop/a")
		outline, err := run.PlanWithPrune(t.Context())
		require.NoError(t, err)
		notes = outline.Notes
		require.Len(t, notes, 1)
		require.Contains(t, notes[0], "members of kind Gear.example.com are left unchanged")
		require.Contains(t, notes[0], "set served: true for one of them (kubectl edit crd gears.example.com)")
		done(t, run)
		require.Equal(t, "ConfigMap,Gear.example.com", promise(t, cluster))

		_, err = setDeletion(cluster).Do(t.Context())
		require.ErrorContains(t, err, "the apply set has members of kind Gear.example.com that cannot be listed")
		require.Equal(t, "ConfigMap,Gear.example.com", promise(t, cluster))
		require.Empty(t, deletions(cluster))
		require.NotNil(t, cluster.At("secrets/shop/ordapply.shop.v1"), "the history stays")

		cluster.Gone = nil
		_, err = setDeletion(cluster).Do(t.Context())
		require.NoError(t, err)
		require.Empty(t, cluster.Members())
	})
}

// The API server has just started and lists the kind a second later, or
// discovery is older than the kind.
func TestKindThatDiscoveryListsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withGear(t)
		cluster.Late = map[schema.GroupKind]bool{gear(): true}
		run := runOf(t, cluster, "ConfigMap shop/a")
		run.Remover.NoWait = true // the store has no watches
		done(t, run)
		require.Equal(t, []string{"gears/one"}, deletions(cluster))
		require.Equal(t, "ConfigMap", promise(t, cluster))
	})
}

// A kind has no objects only when neither refreshed discovery nor a
// CustomResourceDefinition lists it.
func TestKindThatIsGoneLeavesThePromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withGear(t)
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, "ConfigMap", promise(t, cluster))
	})
}

// A definition that may not be read proves nothing.
func TestKindWhoseDefinitionMayNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, resource := range []string{"customresourcedefinitions", "apiservices"} {
			cluster := withGear(t)
			cluster.Refuse = forbidding(resource, "")
			done(t, runOf(t, cluster, "ConfigMap shop/a"))
			require.Equal(t, "ConfigMap,Gear.example.com", promise(t, cluster), resource)
			_, err := setDeletion(cluster).Do(t.Context())
			require.ErrorContains(t, err, "grant get and list on "+resource)
		}
	})
}

// A kind of another API server, which does not list it now.
func TestKindOfAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withGear(t)
		service := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.example.com"},
			"spec": map[string]any{"group": "example.com", "version": "v1", "service": map[string]any{"namespace": "gears", "name": "api"}},
		}}
		kind, _ := cluster.Kind(service.GroupVersionKind())
		cluster.Add(kind, service)
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, "ConfigMap,Gear.example.com", promise(t, cluster))
	})
}

// A run over kinds that are all served does not read discovery, nor definitions but the one
// that says whether objects of a kind get a status.
func TestServedKindsCostNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "Gear.example.com shop/one"))
		cluster.Log = nil
		cluster.Refuse = func(verb string, kind kube.Kind, _, name string) error {
			if verb != "get" || name != "gears.example.com" {
				require.NotContains(t, []string{"customresourcedefinitions", "apiservices"}, kind.Resource.Resource, "%s %s", verb, name)
			}
			return nil
		}
		done(t, runOf(t, cluster, "ConfigMap shop/a", "Gear.example.com shop/one"))
		require.NotContains(t, cluster.Log, "discover")
	})
}

// The bare 404 of a path, as a proxy sends it, is not an empty list.
func TestBareNotFoundIsNoEmptyList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount shop/old"))
		cluster.Refuse = func(verb string, kind kube.Kind, _, _ string) error {
			if verb == "list" && kind.Resource.Resource == "serviceaccounts" {
				return bareNotFound()
			}
			return nil
		}
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, "ConfigMap,ServiceAccount", promise(t, cluster))
		_, err := setDeletion(cluster).Do(t.Context())
		require.ErrorContains(t, err, "check for a proxy between you and the API server")
		require.NotNil(t, cluster.At("secrets/shop/shop"))
	})
}

// bareNotFound returns client-go's error for "404 page not found".
func bareNotFound() error {
	return apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "", "404 page not found", 0, true)
}

// A member that is kept when its set is deleted loses the label; otherwise
// the set is kept.
func TestKeptMemberOfAnUnservedKindHoldsTheSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withGear(t)
		cluster.Gone = nil
		live := cluster.At("gears.example.com/shop/one")
		live.SetAnnotations(map[string]string{"ordapply.dev/lifecycle": "keep"})
		kind, _ := cluster.Kind(live.GroupVersionKind())
		cluster.Add(kind, live)
		cluster.Refuse = func(verb string, kind kube.Kind, _, _ string) error {
			if verb == "get" && kind.Resource.Resource == "gears" {
				return bareNotFound()
			}
			return nil
		}
		_, err := setDeletion(cluster).Do(t.Context())
		require.Error(t, err)
		require.NotNil(t, cluster.At("secrets/shop/shop"), "its parent is dropped only when nothing carries the label")
		require.Equal(t, shopParent().SetID(), applyset.Owner(cluster.At("gears.example.com/shop/one")))
	})
}

func shopParent() applyset.Parent { return applyset.Parent{ID: shopSet} }
