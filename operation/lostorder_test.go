package operation

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// An order is lost by the objects of the stream that were applied in it and have no stamp now.
// Another order replaces it, and a removal from the stream is a prune.
func TestLostOrder(t *testing.T) {
	id := func(name string) object.ID { return object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name} }
	plain, stamped := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	stamped.SetAnnotations(map[string]string{"ordapply.dev/layer": "other/web"})
	stream := &apply.Stream{Objects: map[object.ID]*unstructured.Unstructured{
		id("a"): plain, id("b"): plain, id("c"): plain, id("new"): plain, id("stamped"): stamped,
	}}
	for name, c := range map[string]struct {
		layers map[object.ID]string // of the live objects
		want   string               // the beginning of the error; "": none
	}{
		"nothing exists":      {nil, ""},
		"never had an order":  {map[object.ID]string{id("a"): "", id("b"): ""}, ""},
		"has another order":   {map[object.ID]string{id("stamped"): "shop/web"}, ""},
		"no longer in stream": {map[object.ID]string{id("gone"): "shop/web"}, ""},
		"one object":          {map[object.ID]string{id("a"): "shop/web", id("b"): ""}, "1 object of the stream lost order shop since the last apply. "},
		"two orders": {
			map[object.ID]string{id("a"): "shop/web", id("b"): "infra/base", id("c"): "shop/db", id("stamped"): "shop/web"},
			"3 objects of the stream lost order infra, shop since the last apply. ",
		},
		"forged": {map[object.ID]string{id("a"): "no slash"}, "1 object of the stream lost order no slash since the last apply. "},
	} {
		t.Run(name, func(t *testing.T) {
			err := lostOrder(stream, maps.All(c.layers), nil)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want+"Did kustomize skip the function?")
		})
	}
}
