package ownership

import (
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
