package write

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// MayConflict reports whether a PATCH with a body may be in conflict with other managers of a live
// object: they own fields of the body with other values, which the run neither takes over nor
// forces. If only the object's metadata was read, any value may be another.
func (o Owner) MayConflict(live, body *unstructured.Unstructured) bool {
	isOwn := o.isOwnEntry(live)
	mayConflict := func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource != "status" && e.Manager != applyset.BeforeFirstApply && !o.Force.From(e.Manager) && !isOwn(e)
	}
	others := false
	for w := range applyset.Writers(live) { // to decode the entries of every object takes long
		others = others || mayConflict(metav1.ManagedFieldsEntry{Manager: w.Manager, Operation: w.Operation, Subresource: w.Subresource})
	}
	if !others {
		return false
	}
	whole, found := HasBody(live), false
	for path := range values(OwnedBy(live, mayConflict)).All() { // which does not allow to stop early
		wanted, sent := At(body.Object, path)
		value, has := At(live.Object, path)
		found = found || sent && (!has && !whole || has && !equality.Semantic.DeepEqual(wanted, value))
	}
	return found
}
