package apply

import (
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// A run that is rolled back deletes what it created. What it created is proven,
// never guessed: a LIST right before the first write did not have the object, and
// in the answer to the PATCH no other field manager wrote it before this one.

// noteAbsent keeps which objects the survey did not find, and which of those that it
// found were members of the set.
func (r *run) noteAbsent() {
	for i := range r.steps {
		s := &r.steps[i]
		s.surveyed = s.listed != nil
		s.absent = s.surveyed && s.found == nil
		if s.surveyed && s.found != nil && r.a.Membership.Set != "" {
			s.member = applyset.Owner(s.found) == r.a.Membership.Set
			s.adopted = !s.member
		}
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
	var own *writer
	var others []time.Time
	for w := range writers(live) {
		switch {
		case w.subresource != "":
		case w.manager != manager:
			others = append(others, w.time)
		case w.operation == metav1.ManagedFieldsOperationApply:
			own = &w
		}
	}
	return own != nil && !slices.ContainsFunc(others, func(other time.Time) bool { return !own.time.Before(other) })
}

// writer is who wrote fields of an object, and when, without which fields: these
// take long to read.
type writer struct {
	manager     string
	operation   metav1.ManagedFieldsOperationType
	subresource string
	time        time.Time
}

// writers are those of an object's managedFields.
func writers(live *unstructured.Unstructured) iter.Seq[writer] {
	entries, _, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	return func(yield func(writer) bool) {
		for _, entry := range list {
			fields, _ := entry.(map[string]any)
			manager, _ := fields["manager"].(string)
			operation, _ := fields["operation"].(string)
			subresource, _ := fields["subresource"].(string)
			written, _ := fields["time"].(string)
			at, _ := time.Parse(time.RFC3339, written)
			if !yield(writer{manager, metav1.ManagedFieldsOperationType(operation), subresource, at}) {
				return
			}
		}
	}
}
