package request

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A run may wait for thousands of objects at once. It keeps little more of
// each than the author's manifest.

// Trim drops managedFields from a live object and makes it share with the
// manifest every value that both have. It changes the live object; shared
// values must not be changed afterwards.
func Trim(live, manifest *unstructured.Unstructured) {
	unstructured.RemoveNestedField(live.Object, "metadata", "managedFields")
	shareEqual(live.Object, manifest.Object)
}

// TrimWorkload is Trim for an object that is not judged again unless it changes.
// The spec of a workload is replaced by that of the manifest, without the
// server's defaults, unless its replicas or paused differ. The selector is kept:
// a Job's is set by the server.
func TrimWorkload(live, manifest *unstructured.Unstructured) {
	spec, _ := live.Object["spec"].(map[string]any)
	own, _ := manifest.Object["spec"].(map[string]any)
	switch workload := spec["template"] != nil && own["template"] != nil; {
	case workload && spec["replicas"] == own["replicas"] && spec["paused"] == own["paused"]:
		live.Object["spec"] = withSelector(own, spec["selector"])
	case workload:
		spec["template"] = own["template"]
	}
	Trim(live, manifest)
}

// withSelector returns a workload's spec with a selector, unless it has one.
func withSelector(spec map[string]any, selector any) map[string]any {
	if selector == nil || spec["selector"] != nil {
		return spec
	}
	spec = maps.Clone(spec)
	spec["selector"] = selector
	return spec
}

// shareEqual replaces the parts of value that equal other at the same place, so
// that both use the same memory. It reports whether all of value is equal.
func shareEqual(value, other any) bool {
	switch value := value.(type) {
	case map[string]any:
		other, ok := other.(map[string]any)
		equal := ok && len(other) == len(value)
		for name, field := range value {
			twin, ok := other[name]
			if ok && shareEqual(field, twin) {
				value[name] = twin
			} else {
				equal = false
			}
		}
		return equal
	case []any:
		other, ok := other.([]any)
		equal := ok && len(other) == len(value)
		for i, element := range value {
			if i < len(other) && shareEqual(element, other[i]) {
				value[i] = other[i]
			} else {
				equal = false
			}
		}
		return equal
	}
	return value == other
}
