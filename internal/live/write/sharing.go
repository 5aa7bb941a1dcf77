package write

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/kube/redact"
)

// SharedWith returns the managers that apply a live object too, and hold fields that this
// run's manager holds; none if the run would adopt the object.
func (o Owner) SharedWith(live *unstructured.Unstructured) []string {
	others := false
	for w := range applyset.Writers(live) {
		others = others || o.mayShare(live, w.Manager, w.Operation, w.Subresource)
	}
	if !others || o.adopts(live) {
		return nil
	}
	ours := values(o.ownFields(live))
	var managers []string
	for _, entry := range live.GetManagedFields() {
		if o.mayShare(live, entry.Manager, entry.Operation, entry.Subresource) && !ours.Intersection(applyset.FieldsOf(entry)).Empty() {
			managers = append(managers, entry.Manager)
		}
	}
	slices.Sort(managers)
	return slices.Compact(managers)
}

// mayShare reports whether an entry is that of another tool that applies the object: by
// server-side apply, or one of those that apply whole manifests by updates.
func (o Owner) mayShare(live *unstructured.Unstructured, manager string, op metav1.ManagedFieldsOperationType, subresource string) bool {
	if subresource != "" || manager == o.Manager || manager == applyset.BeforeFirstApply {
		return false
	}
	if op == metav1.ManagedFieldsOperationApply {
		base, _, _ := strings.Cut(o.Manager, ":")
		return manager != base && !strings.HasPrefix(manager, base+":") // other sets are reported as errors
	}
	return isApplier(live, manager, subresource)
}

// ownFields returns the fields of a live object that this run's manager applied.
func (o Owner) ownFields(live *unstructured.Unstructured) *fieldpath.Set {
	own := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		if o.IsOwnEntry(entry) {
			own = own.Union(applyset.FieldsOf(entry))
		}
	}
	return own
}

// values returns the fields of a set that hold a value: neither maps and items, nor the keys
// of items, which each manager of an item has, nor what a run itself writes.
func values(fields *fieldpath.Set) *fieldpath.Set {
	found := &fieldpath.Set{}
	for path := range fields.Leaves().All() {
		if !isKey(path) && !isRecord(path) {
			found.Insert(path.Copy())
		}
	}
	return found
}

// isKey reports whether a field is a key of the item that it belongs to.
func isKey(path fieldpath.Path) bool {
	if len(path) < 2 || path[len(path)-1].FieldName == nil || path[len(path)-2].Key == nil {
		return false
	}
	name := *path[len(path)-1].FieldName
	for _, key := range *path[len(path)-2].Key {
		if key.Name == name {
			return true
		}
	}
	return false
}

// isRecord reports whether a field is an annotation or a label that a run writes for itself.
func isRecord(path fieldpath.Path) bool {
	name := path[len(path)-1].FieldName
	return len(path) == 3 && name != nil && (strings.HasPrefix(*name, "ordapply.dev/") || *name == applyset.PartOfLabel)
}

// OwnEntries returns the fields of a live object that this run's manager applied, in a form
// that is parsed only by LeftFields; nil without other managers, which could keep a field.
func (o Owner) OwnEntries(live *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	others := false
	for w := range applyset.Writers(live) { // to decode the entries of every object takes long
		others = others || !o.IsOwnEntry(metav1.ManagedFieldsEntry{Manager: w.Manager, Operation: w.Operation, Subresource: w.Subresource})
	}
	if !others {
		return nil
	}
	var own []metav1.ManagedFieldsEntry
	for _, entry := range live.GetManagedFields() {
		if o.IsOwnEntry(entry) {
			own = append(own, entry)
		}
	}
	return own
}

// FieldsNotIn returns the fields that this run's manager applied to a live object and a
// manifest no longer has.
func (o Owner) FieldsNotIn(live, manifest *unstructured.Unstructured) *fieldpath.Set {
	gone := &fieldpath.Set{}
	for path := range o.ownFields(live).All() {
		if _, has := At(manifest.Object, path); !has && !isRecord(path) && !isKey(path) {
			gone.Insert(path.Copy())
		}
	}
	return gone
}

// LeftFields returns the fields that this run's manager applied before, as OwnEntries returned
// them, no longer applies to a live object, and that stay because other managers own them.
func (o Owner) LeftFields(before []metav1.ManagedFieldsEntry, live *unstructured.Unstructured) []event.LeftFields {
	if len(before) == 0 {
		return nil
	}
	gone := &fieldpath.Set{}
	for _, entry := range before {
		gone = gone.Union(applyset.FieldsOf(entry))
	}
	gone = gone.Difference(o.ownFields(live))
	if gone.Empty() {
		return nil
	}
	var left []event.LeftFields
	for _, entry := range live.GetManagedFields() {
		if o.IsOwnEntry(entry) {
			continue
		}
		if fields := outermost(gone.Intersection(applyset.FieldsOf(entry))); len(fields) > 0 {
			left = append(left, event.LeftFields{Manager: entry.Manager, Fields: fields})
		}
	}
	return left
}

// RedactLeftFields returns left fields without values of Secrets: the path of a field contains what
// identifies an item of a list.
func RedactLeftFields(all []event.LeftFields, values *redact.Replacer) []event.LeftFields {
	out := slices.Clone(all)
	for i, left := range out {
		out[i].Fields = slices.Clone(left.Fields)
		for n, field := range left.Fields {
			out[i].Fields[n] = values.Line(field)
		}
	}
	return out
}

// outermost lists the fields of a set that are in no other field of it.
func outermost(set *fieldpath.Set) []string {
	var outer []fieldpath.Path
	for path := range set.All() { // a field comes before those in it
		within := slices.ContainsFunc(outer, func(o fieldpath.Path) bool { return len(path) > len(o) && path[:len(o)].Equals(o) })
		if !within && !isRecord(path) && !isKey(path) {
			outer = append(outer, path.Copy())
		}
	}
	var names []string
	for _, path := range outer {
		names = append(names, fields.Text(path))
	}
	return names
}
