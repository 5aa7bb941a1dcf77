package applyset

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// DropUnownedNulls removes from desired, in place, the null fields that manager
// does not own on a live object, and reports whether there were any. The API
// server rejects some nulls, which were then left out of the applied object;
// comparing fingerprints afterwards confirms it.
func DropUnownedNulls(desired, live *unstructured.Unstructured, manager string) bool {
	if !holdsNull(desired.Object) || desired.GetAnnotations()[AppliedAnnotation] == live.GetAnnotations()[AppliedAnnotation] {
		return false
	}
	root, mine := rootOf(desired, live, manager)
	return mine && root.dropNulls(desired.Object)
}

func holdsNull(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if v == nil || holdsNull(v) {
				return true
			}
		}
	case []any:
		for _, v := range value {
			if holdsNull(v) {
				return true
			}
		}
	}
	return false
}

func (p ownedValue) dropNulls(value any) (dropped bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			below, ours := p.at("f:" + key)
			if v == nil && !ours {
				delete(value, key)
				dropped = true
				continue
			}
			dropped = below.dropNulls(v) || dropped
		}
	case []any:
		for _, item := range value {
			var below ownedValue // an item of a list that is owned as a whole
			if entry, ok := p.entryOf(item); ok {
				below, _ = p.at(entry)
			}
			dropped = below.dropNulls(item) || dropped
		}
	}
	return dropped
}
