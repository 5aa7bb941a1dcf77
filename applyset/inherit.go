package applyset

import (
	"bytes"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
)

// BeforeFirstApply is the field manager to which the API server assigns all
// existing fields when an object without managedFields is applied for the first
// time.
const BeforeFirstApply = "before-first-apply"

// OwnershipMigration is the result of migrating the field ownership of other managers
// to a manager, so that its next apply removes fields that its manifest does
// not have.
type OwnershipMigration struct {
	Entries  []metav1.ManagedFieldsEntry // managedFields after the migration
	Migrated *fieldpath.Set              // the migrated fields
	Kept     *fieldpath.Set              // the fields that other managers keep
	Managers []string                    // the managers that the fields were taken from
	Changes  bool                        // Entries differ from the live object's
}

// MigrateOwnership migrates to manager the fields that former returns for an entry of a live
// object with its fields, nil for an entry that is left alone, except fields that the next
// apply must not remove:
//
//   - finalizers and owner references, on which controllers rely, unless manager
//     owns them already;
//   - of BeforeFirstApply, which also owns fields written by controllers and users,
//     fields that neither kubectl's last-applied annotation contains nor manager owns
//     already;
//   - of an entry in another API version than manager's own, fields that the object
//     does not have under the same name in the version in which it was read, or all
//     of them if manager's own entry is in a third one.
//
// These remain with their entry. live is not changed.
func MigrateOwnership(live *unstructured.Unstructured, manager string, former func(metav1.ManagedFieldsEntry, *fieldpath.Set) *fieldpath.Set) OwnershipMigration {
	in := ownershipMigrator{live: live, version: live.GetAPIVersion(), ours: &fieldpath.Set{}}
	entries := slices.Clone(live.GetManagedFields())
	own := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
	if own >= 0 {
		in.ours, in.version = FieldsOf(entries[own]), entries[own].APIVersion
	}
	out := OwnershipMigration{Migrated: &fieldpath.Set{}, Kept: &fieldpath.Set{}}
	for i, entry := range entries {
		if i == own {
			continue
		}
		fields := FieldsOf(entry)
		switch wanted := former(entry, fields); {
		case entry.Subresource != "" || wanted == nil:
			out.Kept = out.Kept.Union(fields)
		default:
			taken := in.migrates(entry, wanted)
			left := fields.Difference(taken)
			out.Migrated, out.Kept = out.Migrated.Union(taken), out.Kept.Union(left)
			if !taken.Empty() {
				out.Managers = append(out.Managers, entry.Manager)
			}
			out.Changes = out.Changes || !taken.Empty() || fields.Empty()
			if own < 0 && !taken.Empty() { // the first such entry becomes the manager's own
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
		entries[own] = withFields(entries[own], in.ours.Union(out.Migrated))
	}
	out.Entries = slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.FieldsV1 == nil })
	return out
}

// ownershipMigrator is the manager to which fields migrate.
type ownershipMigrator struct {
	live    *unstructured.Unstructured
	version string // of its entry
	ours    *fieldpath.Set
}

// migrates returns the fields of a former entry that migrate.
func (in ownershipMigrator) migrates(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) *fieldpath.Set {
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

// withoutFinalizersAndOwners returns a set without finalizers and owner
// references.
func withoutFinalizersAndOwners(owned *fieldpath.Set) *fieldpath.Set {
	kept := &fieldpath.Set{}
	owned.Iterate(func(path fieldpath.Path) {
		if !fields.StartsWith(path, "metadata", "finalizers") && !fields.StartsWith(path, "metadata", "ownerReferences") {
			kept.Insert(path.Copy())
		}
	})
	return kept
}

// lastApplied returns the object in kubectl's last-applied annotation,
// including the annotation itself; nil without one.
func lastApplied(live *unstructured.Unstructured) any {
	text, has := live.GetAnnotations()[LastAppliedAnnotation]
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
	annotations[LastAppliedAnnotation] = text
	metadata["annotations"], object["metadata"] = annotations, metadata
	return object
}

// named returns the fields of a set that exist in a value.
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

// itemAt returns the single field or item to which a path element refers. A
// manifest may omit keys of an item that have defaults.
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
			if fields.MayBeItem(item, at) {
				found = append(found, item)
			}
		}
		if len(found) == 1 {
			return found[0], true
		}
	}
	return nil, false
}

// FieldsOf returns the fields of a managedFields entry; empty if it cannot be
// parsed.
func FieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set, isValid := parseFields(entry)
	if !isValid {
		return &fieldpath.Set{}
	}
	return set
}

// parseFields is FieldsOf, and reports whether the entry has fields that can be parsed.
func parseFields(entry metav1.ManagedFieldsEntry) (set *fieldpath.Set, isValid bool) {
	set = &fieldpath.Set{}
	return set, entry.FieldsV1 != nil && set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) == nil
}

// withFields returns an entry with other fields; nil FieldsV1 if there are
// none.
func withFields(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) metav1.ManagedFieldsEntry {
	entry.FieldsV1 = nil
	if text, err := fields.ToJSON(); err == nil && !fields.Empty() {
		entry.FieldsV1 = metav1.NewFieldsV1(string(text))
	}
	return entry
}
