package edges

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/ordering"
)

func firstKey(r ordering.Resource, keys ...string) string {
	for _, key := range keys {
		if _, ok := r.Annotations[key]; ok {
			return key
		}
	}
	return ""
}

// annotationsOf returns the annotation keys that equal key or start with key
// and a dot, as kapp reads them; sorted.
func annotationsOf(r ordering.Resource, key string) []string {
	var keys []string
	for k := range r.Annotations {
		if k == key || strings.HasPrefix(k, key+".") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// Emitted reports whether a tool's annotations on a resource were written by us
// as a copy of its stamp.
func Emitted(r ordering.Resource, tool string) bool {
	return slices.Contains(references.SplitList(r.Annotations[stamp.EmittedAnnotation]), tool)
}
