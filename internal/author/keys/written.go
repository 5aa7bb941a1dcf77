package keys

import (
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// IsWritten reports whether sortorder writes annotations with this key. Other
// ordapply.dev/ keys belong to the author.
func IsWritten(key string) bool {
	return slices.Contains(stamp.Keys(), key) || key == stamp.Index || key == stamp.LegacyIndex ||
		slices.ContainsFunc(stamp.Tools(), func(tool string) bool { return stamp.Belongs(tool, key) })
}

// Written returns the keys of the stamp and of the annotations for other tools that an
// earlier run of sortorder wrote on a resource, sorted.
func Written(m object.Meta) []string {
	tools, keys := EmittedFor(m), stamp.Keys()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.Annotations)), func(key string) bool {
		return !slices.Contains(keys, key) && !slices.ContainsFunc(tools, func(tool string) bool { return stamp.Belongs(tool, key) })
	})
}

// EmittedFor returns the tools for which an earlier run wrote annotations on a resource.
func EmittedFor(m object.Meta) []string {
	if m.Annotations[stamp.EmittedAnnotation] == "" {
		return nil
	}
	return strings.Split(m.Annotations[stamp.EmittedAnnotation], ",")
}
