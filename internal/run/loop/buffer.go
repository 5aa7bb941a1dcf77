package loop

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Buffer holds the last change that a watch reported of an object while a PATCH of it was in
// flight: on a busy machine the events of a PATCH may arrive before its answer.
type Buffer struct {
	object *unstructured.Unstructured // nil: empty
	change Change
}

// Put replaces the held change.
func (b *Buffer) Put(obj *unstructured.Unstructured, change Change) { *b = Buffer{obj, change} }

// Take empties the buffer. It returns the object if it is the same as in the answer to the PATCH
// and newer. The object must be read again instead if it may be gone, or if only the API server
// knows the order of the two versions.
func (b *Buffer) Take(answer *unstructured.Unstructured) (newer *unstructured.Unstructured, read bool) {
	held := *b
	*b = Buffer{}
	if held.object == nil || held.object.GetUID() != answer.GetUID() {
		return nil, false
	}
	order, err := resourceversion.CompareResourceVersion(held.object.GetResourceVersion(), answer.GetResourceVersion())
	switch {
	case err != nil:
		return nil, true
	case order <= 0:
		return nil, false
	case held.change != Seen:
		return nil, true
	}
	return held.object, false
}
