package remove_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// bare404 returns client-go's error for "404 page not found".
func bare404() error {
	return apierrors.NewGenericServerResponse(404, "delete", schema.GroupResource{}, "", "404 page not found", 0, true)
}

// times returns n copies of an answer.
func times(n int, err error) (out []error) {
	for range n {
		out = append(out, err)
	}
	return out
}

// allButThing reports which kinds discovery lists: all but Thing.
func allButThing(kind string) bool { return kind != "Thing" }

// things returns the CustomResourceDefinition of Thing.
func things() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Thing"}, "versions": []any{map[string]any{"name": "v1", "served": true}}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}},
	}}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("things.example.com")
	return crd
}

// The bare 404 of a path proves nothing about the object. Only an answer that
// names the object does, or proof that its kind is gone.
func TestBareNotFoundIsNoDeletion(t *testing.T) {
	thing := object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: "one"}
	account := object.ID{Kind: "ServiceAccount", Namespace: "shop", Name: "one"}
	for name, tc := range map[string]struct {
		id        object.ID
		defined   bool // its kind is
		forbidden bool // to read CustomResourceDefinitions
		answers   int  // number of bare ones
		gone      bool
	}{
		"a proxy, for ever":       {id: account, answers: 1000},
		"a proxy, for a while":    {id: account, answers: 3, gone: true},
		"its kind, for ever":      {id: thing, defined: true, answers: 1000},
		"its kind, for a while":   {id: thing, defined: true, answers: 3, gone: true},
		"its kind is gone":        {id: thing, answers: 1000, gone: true},
		"its kind cannot be read": {id: thing, forbidden: true, answers: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.Holding(tc.id)
				found := cluster.Found()
				if tc.defined {
					cluster.Put(things())
				}
				if tc.forbidden {
					cluster.Refuse = memcluster.Forbids("list")
				}
				cluster.Ends[tc.id] = memcluster.End{Errs: times(tc.answers, bare404())}
				summary, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(tc.id)), found)
				if tc.gone {
					require.NoError(t, err)
					require.Equal(t, event.Deleted, summary.Results[0].State)
					return
				}
				require.ErrorContains(t, err, "the API server returned a bare 404")
				require.Equal(t, event.Failed, summary.Results[0].State)
			})
		})
	}
}

// A Namespace that has changed since it was inspected is inspected again.
func TestChangedNamespaceIsInspectedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace := object.ID{Kind: "Namespace", Name: "shop"}
		cluster := full(namespace)
		cluster.Ends[namespace] = memcluster.End{Joins: []object.ID{{Kind: "ConfigMap", Namespace: "shop", Name: "late"}}}
		summary, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, event.Kept, summary.Results[0].State)
		require.Contains(t, summary.Results[0].Detail, "it contains objects that are not part of this deletion: ConfigMap shop/late")
	})
}

// The contents of a Namespace are not known while a kind is not served.
func TestUnservedKindKeepsANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace := object.ID{Kind: "Namespace", Name: "shop"}
		crd := things()
		_ = unstructured.SetNestedSlice(crd.Object, []any{map[string]any{"name": "v1", "served": false}}, "spec", "versions")
		cluster := full(namespace)
		found := cluster.Found()
		cluster.Put(crd)
		cluster.Serves = allButThing
		summary, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), found)
		require.NoError(t, err)
		require.Equal(t, event.Kept, summary.Results[0].State)
		require.Contains(t, summary.Results[0].Detail, "its contents cannot be read: the API server does not serve Thing.example.com now")
	})
}

// The dependents of an object whose kind is not served do not count as
// deleted with it.
func TestOwnerOfAnUnservedKindMayExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace, owned := object.ID{Kind: "Namespace", Name: "shop"}, object.ID{Kind: "Secret", Namespace: "shop", Name: "owned"}
		cluster := full(namespace)
		cluster.Serves = allButThing
		found := cluster.Found()
		cluster.Make(owned)
		cluster.Change(owned, func(obj *unstructured.Unstructured) {
			obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "one", UID: "uid"}})
		})
		summary, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), found)
		require.NoError(t, err)
		require.Equal(t, event.Kept, summary.Results[0].State)
	})
}
