package write

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Left reports whether a manifest leaves a field of its object to other managers. Such a
// field stays with its manager when the fields of that manager are taken over.
type Left func(fieldpath.Path) bool

// Takeover selects the managers whose fields a run takes over on a live object: previous
// managers, kubectl's client-side apply, and, when the run adopts the object, the tools that
// applied it before.
type Takeover struct {
	owner        Owner
	adopts       bool
	predecessors []string
	claimants    []string // managers that made the object a member of a set
}

// Takeover returns the takeover of a live object as it was before the run.
func (o Owner) Takeover(live *unstructured.Unstructured) Takeover {
	return Takeover{owner: o, adopts: o.adopts(live), predecessors: o.PreviousManagersOf(live), claimants: applyset.MembershipManagers(live)}
}

// With adds the predecessors that a later state of the object shows: a forced apply takes
// the label of a set from some of them.
func (t Takeover) With(later *unstructured.Unstructured) Takeover {
	t.predecessors = append(slices.Clone(t.predecessors), t.owner.PreviousManagersOf(later)...)
	t.claimants = append(slices.Clone(t.claimants), applyset.MembershipManagers(later)...)
	return t
}

// Of returns the managedFields of an object after the takeover.
func (t Takeover) Of(obj *unstructured.Unstructured, left Left) applyset.OwnershipMigration {
	out := applyset.MigrateOwnership(obj, t.owner.Manager, func(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) *fieldpath.Set {
		switch {
		case t.owner.Adopt == applyset.AdoptNever && kube.ClientSideManagers().Has(entry.Manager):
			return nil
		case kube.IsPredecessor(entry, t.predecessors, t.claimants, t.owner.Manager):
			return fields
		case t.owner.hasLostLabel(obj, entry.Manager, entry.Operation):
			return fields
		case entry.Manager != t.owner.Manager && t.takesApplier(obj, entry, fields):
			return without(fields, left)
		}
		return nil
	})
	base, _, _ := strings.Cut(t.owner.Manager, ":")
	out.Managers = slices.DeleteFunc(out.Managers, func(manager string) bool { // earlier runs, and no real manager
		return manager == base || strings.HasPrefix(manager, base+":") || manager == applyset.BeforeFirstApply
	})
	return out
}

// takesApplier reports whether an entry is of a tool that applied the object before.
func (t Takeover) takesApplier(obj *unstructured.Unstructured, entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) bool {
	if !t.adopts && !slices.Contains(t.owner.Force.Managers, entry.Manager) {
		return false
	}
	return isApplier(obj, entry.Manager, entry.Subresource) || isClientSideApply(entry, fields)
}

// without returns the fields of a tool's entry that a takeover may remove: neither the status
// nor fields left to others.
func without(fields *fieldpath.Set, left Left) *fieldpath.Set {
	taken := &fieldpath.Set{}
	for path := range fields.All() {
		if !isStatus(path) && (left == nil || !left(path)) {
			taken.Insert(path.Copy())
		}
	}
	return taken
}

func isStatus(path fieldpath.Path) bool {
	return path[0].FieldName != nil && *path[0].FieldName == "status"
}

// isClientSideApply reports whether an entry is kubectl's client-side apply under a field
// manager of the user's choice: it also writes the last-applied record.
func isClientSideApply(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) bool {
	return entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" &&
		!strings.HasPrefix(entry.Manager, "kubectl-") && fields.Has(fieldpath.MakePathOrDie("metadata", "annotations", applyset.LastAppliedAnnotation))
}

// HasPreviousManagerFields reports whether a live object has fields of other managers that
// are taken over. It is called for every object, so it parses no more of managedFields than
// necessary.
func (o Owner) HasPreviousManagerFields(live *unstructured.Unstructured, left Left) bool {
	candidate := len(o.otherSetManagers(live)) > 0 || len(o.FormerSetManagers(live)) > 0
	_, recorded := object.Annotation(live.Object, applyset.LastAppliedAnnotation)
	for w := range applyset.Writers(live) {
		isOwn := w.Manager == o.Manager && w.Operation == metav1.ManagedFieldsOperationApply
		candidate = candidate || !isOwn && w.Subresource == "" && (o.isPreviousManager(w.Manager, w.Operation) || o.hasLostLabel(live, w.Manager, w.Operation) ||
			isApplier(live, w.Manager, w.Subresource) || recorded && w.Operation == metav1.ManagedFieldsOperationUpdate)
	}
	return candidate && (o.Takeover(live).Of(live, left).Changes || o.needsBody(live))
}

// hasLostLabel reports whether an entry is that of the update by which a live object joined the set,
// and the object is without the label: an admission plugin removed it, and the entry still has it.
func (o Owner) hasLostLabel(live *unstructured.Unstructured, manager string, op metav1.ManagedFieldsOperationType) bool {
	return o.Set != "" && manager == o.Manager && op == metav1.ManagedFieldsOperationUpdate && applyset.Owner(live) == ""
}

// needsBody reports whether only the whole object shows the fields to take over: an entry in
// another version of the API names fields that the object may not have in this one.
func (o Owner) needsBody(live *unstructured.Unstructured) bool {
	return !HasBody(live) && o.adopts(live) && slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.APIVersion != live.GetAPIVersion() && isApplier(live, entry.Manager, entry.Subresource)
	})
}

// ShowsTakeover reports whether a live object of which perhaps only the metadata was read shows
// which fields a takeover moves: no entry names fields of another version of the API.
func ShowsTakeover(live *unstructured.Unstructured) bool {
	for w := range applyset.Writers(live) {
		if w.Subresource == "" && w.APIVersion != live.GetAPIVersion() {
			return false
		}
	}
	return true
}

// adopts reports whether a live object was not applied completely by a run of this set, or
// without a set: the fingerprint is written by the PATCH after the takeover.
func (o Owner) adopts(live *unstructured.Unstructured) bool {
	fingerprint := fieldpath.MakePathOrDie("metadata", "annotations", applyset.AppliedAnnotation)
	return !slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return o.IsOwnEntry(entry) && applyset.FieldsOf(entry).Has(fingerprint)
	})
}

// IsOwnEntry reports whether an entry is of runs of this set, or without a set.
func (o Owner) IsOwnEntry(entry metav1.ManagedFieldsEntry) bool {
	base, _, _ := strings.Cut(o.Manager, ":")
	return entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" &&
		(entry.Manager == o.Manager || entry.Manager == base || applyset.IsManager(entry.Manager, o.Set))
}
