package set

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// The annotation with the home of a set exists, is empty and belongs to
// another manager: no run sets it, and no run waits for that forever.
func TestRecordsNamespaceThatCannotBeClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		id := object.ID{Group: "example.com", Kind: "Store", Name: "shop"}
		gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Store"}
		kind, _ := cluster.Kind(gvk)
		set := &Set{cluster: cluster, kind: kind, version: "v1", Parent: applyset.Parent{ID: id}}
		parent := &unstructured.Unstructured{}
		parent.SetGroupVersionKind(gvk)
		parent.SetName(id.Name)
		parent.SetAnnotations(map[string]string{RecordsNamespaceAnnotation: ""})
		cluster.Add(kind, parent)
		cluster.Refuse = func(verb string, kind kube.Kind, _, name string) error {
			if verb == "apply" {
				return apierrors.NewConflict(kind.Resource.GroupResource(), name, nil)
			}
			return nil
		}
		_, err := set.ClaimRecordsNamespace(t.Context(), "shop")
		require.ErrorContains(t, err, "its annotation ordapply.dev/home is empty and owned by another field manager")
		require.ErrorContains(t, err, "kubectl annotate stores.example.com shop ordapply.dev/home=shop --overwrite")
	})
}
