package fn

import (
	"fmt"
	"maps"
	"slices"

	sdk "github.com/GoogleContainerTools/kpt-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
)

// Change holds the annotations of a resource to set and to remove.
type Change struct {
	Set    map[string]string // all annotations of the decision, also where the resource has them already
	Remove []string          // keys of an earlier run that the resource has, sorted
}

// isNoop reports whether the change leaves the resource as it is.
func (c Change) isNoop(m object.Meta) bool {
	return len(c.Remove) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(c.Set)), func(key string) bool {
		have, ok := m.Annotations[key]
		return !ok || have != c.Set[key]
	})
}

// difference describes the first annotation that the change would alter.
func (c Change) difference(m object.Meta) string {
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		if have, ok := m.Annotations[key]; !ok || have != c.Set[key] {
			return fmt.Sprintf("is stale: %s is %q and should be %q", key, have, c.Set[key])
		}
	}
	return fmt.Sprintf("is stale: %s is %q and should be absent", c.Remove[0], m.Annotations[c.Remove[0]])
}

// apply applies the change to the object of a mapping, whose metadata is m: existing
// annotations keep their position, new ones come last. It removes maps that become empty.
func (c Change) apply(o *sdk.KubeObject, body *yaml.Node, m object.Meta) error {
	if c.isNoop(m) {
		return nil
	}
	if tree.IsNull(tree.Field(body, "metadata")) { // the SDK adds to no null
		if _, err := o.RemoveNestedField("metadata"); err != nil {
			return err
		}
	}
	if err := o.RemoveAnnotationsIfEmpty(); err != nil { // or null
		return err
	}
	annotations := tree.Field(tree.Field(body, "metadata"), "annotations")
	for _, key := range slices.Concat(c.Remove, slices.Sorted(maps.Keys(c.Set))) {
		value, set := c.Set[key]
		if !set || isRepeated(annotations, key) { // the SDK sets the first one
			if _, err := o.RemoveNestedField("metadata", "annotations", key); err != nil {
				return err
			}
		}
		if set {
			if err := o.SetAnnotation(key, value); err != nil {
				return err
			}
		}
	}
	if err := o.RemoveAnnotationsIfEmpty(); err != nil {
		return err
	}
	if metadata := tree.Field(body, "metadata"); metadata != nil && len(metadata.Content) == 0 {
		_, err := o.RemoveNestedField("metadata")
		return err
	}
	return nil
}

// isRepeated reports whether a mapping has a key twice.
func isRepeated(mapping *yaml.Node, key string) bool {
	count := 0
	for i := 0; mapping != nil && i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			count++
		}
	}
	return count > 1
}

// edits returns changes as package edit applies them.
func edits(changes []Change) []edit.Change {
	out := make([]edit.Change, len(changes))
	for i, c := range changes {
		out[i] = edit.Change(c)
	}
	return out
}
