package apply

import (
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// Rolling back a run deletes the objects that it created. Creation is proven,
// never guessed: a LIST right before the first write did not have the object,
// and in the answer to the PATCH no other field manager wrote it before this
// one.

// recordExistence records which objects the snapshot does not contain, and which of
// the others were members of the set.
func (r *run) recordExistence() {
	for i := range r.steps {
		s := &r.steps[i]
		s.listedBefore = s.list != nil
		s.absent = s.listedBefore && s.listedObject == nil
		if s.listedBefore && s.listedObject != nil && r.applier.Membership.Set != "" {
			s.member = applyset.Owner(s.listedObject) == r.applier.Membership.Set
			s.adopted = !s.member
		}
	}
}

// recordCreated records whether the PATCH with this answer created the object.
func (r *run) recordCreated(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	if s.answeredAt.IsZero() && r.wasAbsent(i) && WasCreatedBy(live, r.applier.Manager) {
		s.createdUID = live.GetUID()
	}
}

// wasAbsent reports whether an object is proven not to have existed when the
// run began. A custom resource cannot be older than a definition that the run
// created.
func (r *run) wasAbsent(i int) bool {
	s := &r.steps[i]
	if s.listedBefore {
		return s.absent
	}
	for _, crd := range r.crdSteps[s.manifest.GroupVersionKind().GroupVersion()] {
		for _, gvk := range kube.DefinedKinds(r.steps[crd].manifest) {
			if gvk.GroupKind() == s.manifest.GroupVersionKind().GroupKind() && r.steps[crd].createdUID != "" {
				return true
			}
		}
	}
	return false
}

// WasCreatedBy reports whether a field manager applied an object before any
// other manager wrote it. Times of managedFields are whole seconds: the same
// second proves nothing. Writes to subresources follow the creation and do
// not count.
func WasCreatedBy(live *unstructured.Unstructured, manager string) bool {
	var own *writer
	var others []time.Time
	for w := range managedFieldsWriters(live) {
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

// writer is one entry of managedFields without its fields, which take long to
// parse.
type writer struct {
	manager     string
	operation   metav1.ManagedFieldsOperationType
	subresource string
	time        time.Time
}

// managedFieldsWriters iterates over the entries of an object's managedFields.
func managedFieldsWriters(live *unstructured.Unstructured) iter.Seq[writer] {
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
