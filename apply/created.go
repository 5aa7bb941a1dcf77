package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A run that is rolled back deletes what it created. What it created is proven,
// never guessed: a LIST right before the first write did not have the object, and
// in the answer to the PATCH no other field manager wrote it before this one.

// noteAbsent keeps which objects the survey did not find.
func (r *run) noteAbsent() {
	for i := range r.steps {
		s := &r.steps[i]
		s.surveyed = s.listed != nil
		s.absent = s.surveyed && s.found == nil
	}
}

// noteCreated keeps whether the PATCH that answered with this object created it.
func (r *run) noteCreated(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	if s.answered.IsZero() && r.wasAbsent(i) && WrittenFirstBy(live, r.a.Manager) {
		s.createdUID = live.GetUID()
	}
}

// wasAbsent reports whether an object surely was not there when the run began. A
// custom resource cannot be older than a definition that the run created.
func (r *run) wasAbsent(i int) bool {
	s := &r.steps[i]
	if s.surveyed {
		return s.absent
	}
	for _, crd := range r.definers[s.obj.GroupVersionKind().GroupVersion()] {
		for _, gvk := range definedKinds(r.steps[crd].obj) {
			if gvk.GroupKind() == s.obj.GroupVersionKind().GroupKind() && r.steps[crd].createdUID != "" {
				return true
			}
		}
	}
	return false
}

// WrittenFirstBy reports whether a field manager applied an object before any
// other wrote it. Times of managed fields are whole seconds: the same second is no
// proof. Writes to subresources follow the creation and do not count.
func WrittenFirstBy(live *unstructured.Unstructured, manager string) bool {
	entries := live.GetManagedFields()
	var own *metav1.ManagedFieldsEntry
	for i, e := range entries {
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			own = &entries[i]
		}
	}
	if own == nil {
		return false
	}
	for _, e := range entries {
		if e.Manager != manager && e.Subresource == "" && !own.Time.Before(e.Time) {
			return false
		}
	}
	return true
}
