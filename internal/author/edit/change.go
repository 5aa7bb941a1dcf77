package edit

import (
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/text/tree"
)

// Change holds the annotations of a resource to set and to remove.
type Change struct {
	Set    map[string]string // all that the decision wants, also where the resource has them already
	Remove []string          // keys of an earlier run that the resource has, sorted
}

// apply applies the change to a resource: existing annotations keep their
// position, new ones come first. It removes maps that become empty.
func (c Change) apply(body *yaml.Node) {
	if len(c.Set) == 0 && len(c.Remove) == 0 {
		return
	}
	metadata := tree.EnsureMap(body, "metadata", tree.SetField)
	annotations := tree.EnsureMap(metadata, "annotations", tree.SetFirst)
	for _, key := range c.Remove {
		tree.RemoveField(annotations, key)
	}
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(c.Set))) {
		tree.SetFirst(annotations, key, tree.String(c.Set[key]))
	}
	if len(annotations.Content) == 0 {
		tree.RemoveField(metadata, "annotations")
	}
	if len(metadata.Content) == 0 {
		tree.RemoveField(body, "metadata")
	}
}
