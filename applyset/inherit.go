package applyset

import (
	"bytes"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// BeforeFirstApply is the field manager that the API server makes the owner of
// everything that is in an object without managedFields when it is applied first.
const BeforeFirstApply = "before-first-apply"

// Inheritance is what becomes of managedFields when a manager takes over the fields
// of others, so that a field that its manifests do not hold goes with the next
// apply.
type Inheritance struct {
	Entries []metav1.ManagedFieldsEntry // as they are then
	Taken   *fieldpath.Set              // the fields that were taken over
	Kept    *fieldpath.Set              // the fields that other managers still own
	Changes bool                        // Entries are others than those of the live object
}

// Inherit lets manager take over what former entries of a live object own, but for
// what must not go with the next apply:
//
//   - finalizers and owner references, which controllers rely on, unless manager
//     owns them already;
//   - of BeforeFirstApply, which owns what controllers and people wrote as well,
//     what neither kubectl's last-applied annotation names nor manager owns already;
//   - of an entry in another version of the API, what the object does not have under
//     that name in the version in which it was read.
//
// That stays with the entry that has it.
func Inherit(live *unstructured.Unstructured, manager string, former func(metav1.ManagedFieldsEntry) bool) Inheritance {
	in := inheritor{live: live, version: live.GetAPIVersion(), ours: &fieldpath.Set{}}
	entries := slices.Clone(live.GetManagedFields())
	own := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
	if own >= 0 {
		in.ours, in.version = FieldsOf(entries[own]), entries[own].APIVersion
	}
	out := Inheritance{Taken: &fieldpath.Set{}, Kept: &fieldpath.Set{}}
	for i, entry := range entries {
		switch {
		case i == own:
		case entry.Subresource != "" || !former(entry):
			out.Kept = out.Kept.Union(FieldsOf(entry))
		default:
			fields := FieldsOf(entry)
			taken := in.takes(entry, fields)
			left := fields.Difference(taken)
			out.Taken, out.Kept = out.Taken.Union(taken), out.Kept.Union(left)
			out.Changes = out.Changes || !taken.Empty() || fields.Empty()
			if own < 0 && !taken.Empty() { // the first of them becomes the manager's own entry
				own = len(entries)
				entries = append(entries, metav1.ManagedFieldsEntry{
					Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: in.version,
					Time: entry.Time, FieldsType: entry.FieldsType,
				})
			}
			entries[i] = withFields(entry, left)
		}
	}
	if own >= 0 {
		entries[own] = withFields(entries[own], in.ours.Union(out.Taken))
	}
	out.Entries = slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.FieldsV1 == nil })
	return out
}

// inheritor is who takes over fields.
type inheritor struct {
	live    *unstructured.Unstructured
	version string // of its entry
	ours    *fieldpath.Set
}

// takes are the fields of a former entry that are taken over.
func (in inheritor) takes(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) *fieldpath.Set {
	already := fields.Intersection(in.ours)
	if entry.Manager == BeforeFirstApply {
		fields = named(fields, lastApplied(in.live))
	}
	switch {
	case entry.APIVersion == in.version:
	case in.version == in.live.GetAPIVersion():
		fields = named(fields, in.live.Object)
	default:
		return &fieldpath.Set{}
	}
	return withoutFinalizersAndOwners(fields).Union(already)
}

// withoutFinalizersAndOwners is a set without what keeps an object alive, or lets it go with
// another one.
func withoutFinalizersAndOwners(fields *fieldpath.Set) *fieldpath.Set {
	kept := &fieldpath.Set{}
	fields.Iterate(func(path fieldpath.Path) {
		if len(path) < 2 || !isField(path[0], "metadata") || !isField(path[1], "finalizers") && !isField(path[1], "ownerReferences") {
			kept.Insert(path.Copy())
		}
	})
	return kept
}

func isField(at fieldpath.PathElement, name string) bool {
	return at.FieldName != nil && *at.FieldName == name
}

// lastApplied is what kubectl's client-side apply wrote down of what it applied
// last, with the annotation in which it did; nil without one.
func lastApplied(live *unstructured.Unstructured) any {
	text, has := live.GetAnnotations()[lastAppliedAnnotation]
	if !has {
		return nil
	}
	object := map[string]any{}
	if json.Unmarshal([]byte(text), &object) != nil {
		object = map[string]any{}
	}
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[lastAppliedAnnotation] = text
	metadata["annotations"], object["metadata"] = annotations, metadata
	return object
}

// named are the fields of a set that a value has.
func named(fields *fieldpath.Set, in any) *fieldpath.Set {
	out := &fieldpath.Set{}
	fields.Members.Iterate(func(at fieldpath.PathElement) {
		if _, has := itemAt(in, at); has {
			out.Members.Insert(at)
		}
	})
	fields.Children.Iterate(func(at fieldpath.PathElement) {
		inner, has := itemAt(in, at)
		below, _ := fields.Children.Get(at)
		if !has {
			return
		}
		if found := named(below, inner); !found.Empty() {
			*out.Children.Descend(at) = *found
		}
	})
	return out
}

// itemAt is the one field or item of a value that a path element names. A manifest may
// leave out keys of an item that have defaults.
func itemAt(in any, at fieldpath.PathElement) (any, bool) {
	switch in := in.(type) {
	case map[string]any:
		if at.FieldName != nil {
			field, has := in[*at.FieldName]
			return field, has
		}
	case []any:
		var found []any
		for _, item := range in {
			if isAt(at, item) {
				found = append(found, item)
			}
		}
		if len(found) == 1 {
			return found[0], true
		}
	}
	return nil, false
}

func isAt(at fieldpath.PathElement, item any) bool {
	if at.Value != nil {
		return value.Equals(value.NewValueInterface(item), *at.Value)
	}
	fields, ok := item.(map[string]any)
	if at.Key == nil || !ok {
		return false
	}
	same := 0
	for _, key := range *at.Key {
		has, ok := fields[key.Name]
		if ok && !value.Equals(value.NewValueInterface(has), key.Value) {
			return false
		}
		if ok {
			same++
		}
	}
	return same > 0
}

// FieldsOf are the fields that an entry of managedFields speaks of; none when it
// cannot be read.
func FieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil || set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
		return &fieldpath.Set{}
	}
	return set
}

// withFields is an entry with other fields; without any where there are none.
func withFields(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) metav1.ManagedFieldsEntry {
	entry.FieldsV1 = nil
	if text, err := fields.ToJSON(); err == nil && !fields.Empty() {
		entry.FieldsV1 = metav1.NewFieldsV1(string(text))
	}
	return entry
}
