package applyset

import (
	"cmp"
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
	var out []metav1.ManagedFieldsEntry
	taken := map[string]*fieldpath.Set{} // by API version
	for _, entry := range entries {
		fields, isValid := parseFields(entry)
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply || !isValid {
			out = append(out, entry)
			continue
		}
		if moved := parentFields(fields); !moved.Empty() {
			fields = withoutEmptyMaps(fields.Difference(moved))
			taken[entry.APIVersion] = moved.Union(cmp.Or(taken[entry.APIVersion], &fieldpath.Set{}))
			entry = withFields(entry, fields)
		}
		if !fields.Empty() {
			out = append(out, entry)
		}
	}
	for version, fields := range taken {
		at := slices.IndexFunc(out, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.APIVersion == version
		})
		if at < 0 {
			at = len(out)
			out = append(out, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1"})
		}
		out[at] = withFields(out[at], fields.Union(FieldsOf(out[at])))
	}
	return out
}

// parentPlaces are the maps in which a parent has the fields of KEP-3659.
func parentPlaces() []fieldpath.Path {
	return []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "labels"), fieldpath.MakePathOrDie("metadata", "annotations")}
}

// parentFields returns the labels and annotations of KEP-3659 among fields.
func parentFields(fields *fieldpath.Set) *fieldpath.Set {
	found := &fieldpath.Set{}
	for path := range fields.All() {
		inPlace := slices.ContainsFunc(parentPlaces(), func(place fieldpath.Path) bool { return len(path) == 3 && path[:2].Equals(place) })
		if inPlace && path[2].FieldName != nil && strings.HasPrefix(*path[2].FieldName, keyPrefix) {
			found.Insert(path.Copy())
		}
	}
	return found
}

// withoutEmptyMaps returns fields without the maps themselves of which nothing else is left.
func withoutEmptyMaps(fields *fieldpath.Set) *fieldpath.Set {
	empty := &fieldpath.Set{}
	for _, place := range parentPlaces() {
		if fields.WithPrefix(place[0]).WithPrefix(place[1]).Empty() {
			empty.Insert(place)
		}
	}
	return fields.Difference(empty)
}
