package applyset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Released returns the managedFields of a member after its release from the set: without
// the entries of the set's field managers. Their applied fields become next's, if that
// is not "". live is not changed.
func (p Parent) Released(live *unstructured.Unstructured, next string) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	var applied []metav1.ManagedFieldsEntry
	for _, entry := range live.GetManagedFields() {
		switch {
		case entry.Subresource != "" || !p.IsManager(entry.Manager):
			out = append(out, entry)
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			applied = append(applied, entry)
		}
	}
	if next == "" {
		return out
	}
	for _, entry := range applied {
		out = withApplied(out, entry, next)
	}
	return out
}

// WithLabelOf returns managedFields in which a manager owns the membership label by an
// apply, and not by an update.
func WithLabelOf(entries []metav1.ManagedFieldsEntry, apiVersion, manager string) []metav1.ManagedFieldsEntry {
	label := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "labels", PartOfLabel))
	var out []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Manager == manager {
			entry = withFields(entry, FieldsOf(entry).Difference(label))
		}
		if entry.FieldsV1 != nil {
			out = append(out, entry)
		}
	}
	own := metav1.ManagedFieldsEntry{APIVersion: apiVersion, FieldsType: "FieldsV1"}
	return withApplied(out, withFields(own, label), manager)
}

// withApplied adds the fields of an entry to a manager's applied fields. Of two entries in
// different versions of the API the manager's own stays.
func withApplied(entries []metav1.ManagedFieldsEntry, more metav1.ManagedFieldsEntry, manager string) []metav1.ManagedFieldsEntry {
	at := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
	switch {
	case at < 0:
		more.Manager, more.Operation = manager, metav1.ManagedFieldsOperationApply
		return append(entries, more)
	case entries[at].APIVersion == more.APIVersion:
		entries[at] = withFields(entries[at], FieldsOf(entries[at]).Union(FieldsOf(more)))
	}
	return entries
}
