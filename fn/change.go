package fn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/author/edit"
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

// edits returns changes as package edit applies them.
func edits(changes []Change) []edit.Change {
	out := make([]edit.Change, len(changes))
	for i, c := range changes {
		out[i] = edit.Change(c)
	}
	return out
}
