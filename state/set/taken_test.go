package set

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/live/inventory"
	"github.com/ordapply/ordapply/object"
)

func parentWith(text string) *unstructured.Unstructured {
	parent := &unstructured.Unstructured{}
	parent.SetAnnotations(map[string]string{TakenFromAnnotation: text})
	return parent
}

func TestTakenObjectsAreRead(t *testing.T) {
	web := inventory.Inventory{Ref: inventory.Ref{Tool: inventory.Helm, Namespace: "shop", Name: "web"}, Title: "Helm release shop/web", Objects: []object.ID{{Kind: "Secret", Namespace: "shop", Name: "all"}}}
	left, more := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "left"}, object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "more"}
	set := &Set{}
	require.NoError(t, set.TakeFrom(web, []object.ID{left}))
	require.NoError(t, set.TakeFrom(web, []object.ID{more, left}), "a second run adds what it finds")
	want := []inventory.Inventory{{Ref: web.Ref, Title: web.Title, Objects: []object.ID{more, left}}}
	require.Equal(t, want, set.TakenFrom())
	require.Equal(t, want, readTaken(parentWith(takenText(set.taken))))
	set.ForgetTaken()
	require.Empty(t, takenText(set.taken))
}

// Names of records without their objects, as older runs stored them, list nothing.
func TestATakenNameListsNothing(t *testing.T) {
	for _, text := range []string{"", "helm/shop/web kapp//17", `[{"record": "helm/shop/a,b", "objects": [["", "Secret", "shop", "a"]]}]`} {
		require.Empty(t, readTaken(parentWith(text)), text)
	}
}

func TestTakenObjectsAreBounded(t *testing.T) {
	set, all := &Set{}, []object.ID{}
	for i := range 100_000 {
		all = append(all, object.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("left-%x", i*7919*7919)})
	}
	err := set.TakeFrom(inventory.Inventory{Title: "Helm release shop/web"}, all)
	require.ErrorContains(t, err, "Helm release shop/web contains 100000 objects that the stream does not contain, more than the parent of apply set")
	require.Empty(t, set.TakenFrom())
}
