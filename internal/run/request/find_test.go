package request_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// Manifests may contain an object of a kind that is not served now: it exists or not, and
// only its CustomResourceDefinition can tell.
func TestFindOfAnUnservedKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		cluster.Gone = map[schema.GroupKind]bool{{Group: "example.com", Kind: "Thing"}: true}
		resources := []ordering.Resource{{Meta: object.Meta{ID: object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: "one"}, Version: "v1"}}}
		found, err := request.FindMetadata(t.Context(), cluster, resources)
		require.NoError(t, err)
		require.Empty(t, found)

		crd := &unstructured.Unstructured{Object: map[string]any{
			"spec":   map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Thing"}, "versions": []any{map[string]any{"name": "v1", "served": true}}},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}},
		}}
		crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		crd.SetName("things.example.com")
		kind, _ := cluster.Kind(crd.GroupVersionKind())
		cluster.Add(kind, crd)
		_, err = request.FindMetadata(t.Context(), cluster, resources)
		require.ErrorContains(t, err, "CustomResourceDefinition things.example.com serves v1, and the API server does not answer for that yet")
		cluster.Refuse = memcluster.Forbids("list", "get")
		_, err = request.FindMetadata(t.Context(), cluster, resources)
		require.ErrorContains(t, err, "grant get and list on customresourcedefinitions.apiextensions.k8s.io")
	})
}
