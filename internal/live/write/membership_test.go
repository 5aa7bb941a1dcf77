package write_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// labelled are the Secrets with the label of a set, by namespace; "" for all.
type labelled map[string][]string

func (labelled) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	return kube.CoreKind("secrets"), gvk.Kind == "Secret"
}

func (l labelled) List(_ context.Context, _ kube.Kind, namespace string, _ kube.Query) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, home := range l[namespace] {
		secret := &unstructured.Unstructured{Object: map[string]any{}}
		secret.SetNamespace(home)
		secret.SetName("mesh")
		out = append(out, secret)
	}
	return out, nil
}

// The label of a parent can be copied to any object, in the namespace of a member too: an error
// must not name that object as the set to apply to.
func TestCopiedLabelIsNoParent(t *testing.T) {
	mesh := applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "home", Name: "mesh"}}
	find := write.NewSetFinder(t.Context(), labelled{"app": {"app"}, "": {"app", "home"}})
	require.Equal(t, "Secret home/mesh", find(mesh.SetID(), "app").String())
	find = write.NewSetFinder(t.Context(), labelled{"app": {"app"}, "": {"app"}})
	require.Equal(t, mesh.SetID(), find(mesh.SetID(), "app").String())
}
