package differential

import (
	"encoding/json"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"
)

// write is a patch of another field manager.
type write struct {
	kind types.PatchType
	body []byte
}

// drawWrite returns a write of some fields of an edited manifest: a merge patch, or a
// forced server-side apply.
func drawWrite(r *rand.Rand, manifest, other map[string]any) *write {
	edited := edit(r, manifest, other)
	w := &write{kind: types.MergePatchType}
	if r.IntN(2) == 0 {
		w.kind = types.ApplyPatchType
	}
	body := any(map[string]any{"apiVersion": edited["apiVersion"], "kind": edited["kind"]})
	body = put(body, path{"metadata", "name"}, edited["metadata"].(map[string]any)["name"])
	all := paths(edited)
	for range 1 + r.IntN(3) {
		if len(all) == 0 {
			break
		}
		p := field(all[r.IntN(len(all))])
		value, _ := at(edited, p)
		body = put(body, p, value)
	}
	w.body, _ = json.Marshal(body)
	return w
}

// field returns the path up to the first list: a part of a list is no field that a patch
// can set.
func field(p path) path {
	for i, step := range p {
		if _, index := step.(int); index {
			return p[:i]
		}
	}
	return p
}
