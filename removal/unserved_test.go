package removal_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/snapshot"
	"github.com/ordapply/ordapply/internal/test/memcluster"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
	"github.com/ordapply/ordapply/removal"
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

// defining is a cluster with CustomResourceDefinitions.
type defining struct {
	*memcluster.Scripted
	definitions []*unstructured.Unstructured
	forbidden   bool // to list them
}

func (c defining) List(_ context.Context, kind kube.Kind, _ string, _ kube.Query) ([]*unstructured.Unstructured, error) {
	switch {
	case kind.Resource.Resource != "customresourcedefinitions":
		return nil, nil
	case c.forbidden:
		return nil, apierrors.NewForbidden(kind.Resource.GroupResource(), "", nil)
	}
	return c.definitions, nil
}

func (c defining) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	for _, crd := range c.definitions {
		if crd.GetName() == name {
			return crd.DeepCopy(), nil
		}
	}
	return c.Scripted.Get(ctx, kind, namespace, name)
}

func things() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Thing"}, "versions": []any{map[string]any{"name": "v1", "served": true}}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}},
	}}
	crd.SetName("things.example.com")
	return crd
}

// The bare 404 of a path proves nothing about the object. Only an answer that
// names the object does, or proof that its kind is gone.
func TestBareNotFoundIsNoDeletion(t *testing.T) {
	thing := object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: "one"}
	account := object.ID{Kind: "ServiceAccount", Namespace: "shop", Name: "one"}
	for name, tc := range map[string]struct {
		id      object.ID
		cluster defining
		answers int // number of bare ones
		gone    bool
	}{
		"a proxy, for ever":       {id: account, answers: 1000},
		"a proxy, for a while":    {id: account, answers: 3, gone: true},
		"its kind, for ever":      {id: thing, cluster: defining{definitions: []*unstructured.Unstructured{things()}}, answers: 1000},
		"its kind, for a while":   {id: thing, cluster: defining{definitions: []*unstructured.Unstructured{things()}}, answers: 3, gone: true},
		"its kind is gone":        {id: thing, answers: 1000, gone: true},
		"its kind cannot be read": {id: thing, cluster: defining{forbidden: true}, answers: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := tc.cluster
				cluster.Scripted = memcluster.Holding(tc.id)
				cluster.Ends[tc.id] = memcluster.End{Errs: times(tc.answers, bare404())}
				summary, err := removal.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(tc.id)), cluster.Found())
				if tc.gone {
					require.NoError(t, err)
					require.Equal(t, progress.Deleted, summary.Results[0].State)
					return
				}
				require.ErrorContains(t, err, "the API server returned a bare 404")
				require.Equal(t, progress.Failed, summary.Results[0].State)
			})
		})
	}
}

// Manifests may contain an object of a kind that is not served now.
func TestFindOfAnUnservedKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thing := object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: "one"}
		cluster := defining{Scripted: memcluster.Holding(thing)}
		cluster.Serves = func(kind string) bool { return kind != "Thing" }
		resources := []ordering.Resource{{Meta: object.Meta{ID: thing, Version: "v1"}}}
		found, err := snapshot.Find(t.Context(), cluster, resources)
		require.NoError(t, err)
		require.Empty(t, found)

		cluster.definitions = []*unstructured.Unstructured{things()}
		_, err = snapshot.Find(t.Context(), cluster, resources)
		require.ErrorContains(t, err, "CustomResourceDefinition things.example.com serves v1, and the API server does not answer for that yet")
		cluster.definitions, cluster.forbidden = nil, true
		_, err = snapshot.Find(t.Context(), cluster, resources)
		require.ErrorContains(t, err, "grant get and list on customresourcedefinitions.apiextensions.k8s.io")
	})
}

// joining is a Namespace in which another client creates an object, and which
// it changes, just before the DELETE arrives.
type joining struct{ *memcluster.Scripted }

func (c joining) Delete(ctx context.Context, kind kube.Kind, read *unstructured.Unstructured, o kube.DeleteOptions) error {
	late := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "late"}
	c.Mu.Lock()
	if c.Live(late) == nil {
		c.Make(late)
		c.Change(kube.Meta(read).ID, func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"changed": "yes"}) })
	}
	c.Mu.Unlock()
	return c.Scripted.Delete(ctx, kind, read, o)
}

// A Namespace that has changed since it was inspected is inspected again.
func TestChangedNamespaceIsLookedIntoAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace := object.ID{Kind: "Namespace", Name: "shop"}
		cluster := joining{full(namespace)}
		summary, err := removal.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, progress.Kept, summary.Results[0].State)
		require.Contains(t, summary.Results[0].Detail, "it contains objects that are not part of this deletion: ConfigMap shop/late")
	})
}

// hiding is a Namespace that contains objects of a kind that discovery does
// not list.
type hiding struct {
	*memcluster.Scripted
	definitions []*unstructured.Unstructured
}

func (c hiding) List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error) {
	if kind.Resource.Resource == "customresourcedefinitions" {
		return c.definitions, nil
	}
	return c.Scripted.List(ctx, kind, namespace, query)
}

func (c hiding) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return defining{Scripted: c.Scripted, definitions: c.definitions}.Get(ctx, kind, namespace, name)
}

// The contents of a Namespace are not known while a kind is not served.
func TestUnservedKindKeepsANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace := object.ID{Kind: "Namespace", Name: "shop"}
		crd := things()
		_ = unstructured.SetNestedSlice(crd.Object, []any{map[string]any{"name": "v1", "served": false}}, "spec", "versions")
		cluster := hiding{Scripted: full(namespace), definitions: []*unstructured.Unstructured{crd}}
		cluster.Serves = func(kind string) bool { return kind != "Thing" }
		summary, err := removal.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, progress.Kept, summary.Results[0].State)
		require.Contains(t, summary.Results[0].Detail, "its contents cannot be read: the API server does not serve Thing.example.com now")
	})
}

// The dependents of an object whose kind is not served do not count as
// deleted with it.
func TestOwnerOfAnUnservedKindMayExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace, owned := object.ID{Kind: "Namespace", Name: "shop"}, object.ID{Kind: "Secret", Namespace: "shop", Name: "owned"}
		cluster := full(namespace)
		cluster.Serves = func(kind string) bool { return kind != "Thing" }
		found := cluster.Found()
		cluster.Make(owned)
		cluster.Change(owned, func(obj *unstructured.Unstructured) {
			obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "one", UID: "uid"}})
		})
		summary, err := removal.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(namespace)), found)
		require.NoError(t, err)
		require.Equal(t, progress.Kept, summary.Results[0].State)
	})
}
