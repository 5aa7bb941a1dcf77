package applyset

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// keyPrefix is the prefix of the labels and annotations of KEP-3659.
const keyPrefix = "applyset.kubernetes.io/"

// WithParentFields returns managedFields in which manager, by apply, owns the
// labels and annotations of KEP-3659 that others owned. Other fields keep their
// owners. Entries that cannot be parsed are unchanged.
func WithParentFields(entries []metav1.ManagedFieldsEntry, manager string) []metav1.ManagedFieldsEntry {
	isOwn := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply
	}
	var out []metav1.ManagedFieldsEntry
	taken := map[string]*fieldpath.Set{} // by API version
	for _, entry := range entries {
		fields := FieldsOf(entry)
		if moved := parentFields(fields); !isOwn(entry) && !moved.Empty() {
			entry = withFields(entry, withoutEmptyMaps(fields.Difference(moved)))
			if before := taken[entry.APIVersion]; before != nil {
				moved = moved.Union(before)
			}
			taken[entry.APIVersion] = moved
			if entry.FieldsV1 == nil {
				continue // nothing is left to it
			}
		}
		out = append(out, entry)
	}
	for version, fields := range taken {
		at := slices.IndexFunc(out, func(e metav1.ManagedFieldsEntry) bool { return isOwn(e) && e.APIVersion == version })
		if at < 0 {
			at = len(out)
			out = append(out, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1"})
		}
		out[at] = withFields(out[at], fields.Union(FieldsOf(out[at])))
	}
	return out
}

// parentFields returns the labels and annotations of KEP-3659 in a set.
func parentFields(fields *fieldpath.Set) *fieldpath.Set {
	found := &fieldpath.Set{}
	fields.Iterate(func(path fieldpath.Path) {
		if len(path) == 3 && isField(path[0], "metadata") && (isField(path[1], "labels") || isField(path[1], "annotations")) &&
			path[2].FieldName != nil && strings.HasPrefix(*path[2].FieldName, keyPrefix) {
			found.Insert(path.Copy())
		}
	})
	return found
}

// withoutEmptyMaps returns a set without the labels and annotations as a whole, where it
// has none of them.
func withoutEmptyMaps(fields *fieldpath.Set) *fieldpath.Set {
	for _, field := range []string{"labels", "annotations"} {
		path := fieldpath.MakePathOrDie("metadata", field)
		if fields.WithPrefix(path[0]).WithPrefix(path[1]).Empty() {
			fields = fields.Difference(fieldpath.NewSet(path))
		}
	}
	return fields
}
