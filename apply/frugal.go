package apply

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A run may wait for thousands of objects at once. What it keeps of each is
// little more than the author's manifest.

// slim drops what nobody reads from a live object, and lets it share with the
// manifest all that they have in common. The live object is changed; what is
// shared must not be changed after that.
func slim(live, manifest *unstructured.Unstructured) {
	unstructured.RemoveNestedField(live.Object, "metadata", "managedFields")
	share(live.Object, manifest.Object)
}

// slimWorkload is slim for an object that says how it stands: of a workload's
// spec the author's own text is enough, without the server's defaults, unless
// somebody else scales or pauses it. How it finds its Pods stays: a Job's selector
// is the server's.
func slimWorkload(live, manifest *unstructured.Unstructured) {
	spec, _ := live.Object["spec"].(map[string]any)
	own, _ := manifest.Object["spec"].(map[string]any)
	switch workload := spec["template"] != nil && own["template"] != nil; {
	case workload && spec["replicas"] == own["replicas"] && spec["paused"] == own["paused"]:
		live.Object["spec"] = withSelector(own, spec["selector"])
	case workload:
		spec["template"] = own["template"]
	}
	slim(live, manifest)
}

// withSelector is a workload's spec with a selector, which it may have already.
func withSelector(spec map[string]any, selector any) map[string]any {
	if selector == nil || spec["selector"] != nil {
		return spec
	}
	spec = maps.Clone(spec)
	spec["selector"] = selector
	return spec
}

// share puts the parts of other into value that are equal at the same place, so
// that both use the same memory. It tells whether all of value is equal.
func share(value, other any) bool {
	switch value := value.(type) {
	case map[string]any:
		other, ok := other.(map[string]any)
		equal := ok && len(other) == len(value)
		for name, field := range value {
			twin, ok := other[name]
			if ok && share(field, twin) {
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
			if i < len(other) && share(element, other[i]) {
				value[i] = other[i]
			} else {
				equal = false
			}
		}
		return equal
	}
	return value == other
}
