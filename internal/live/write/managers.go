package write

import (
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
)

// isPreviousManager reports whether the fields that a manager owns by an operation
// are migrated to this run's manager. Other managers of this set are earlier
// runs.
func (o Owner) isPreviousManager(manager string, op metav1.ManagedFieldsOperationType) bool {
	if op == metav1.ManagedFieldsOperationUpdate {
		return kube.ClientSideManagers().Has(manager) && o.Adopt != applyset.AdoptNever
	}
	return manager != o.Manager && (applyset.IsManager(manager, o.Set) || slices.Contains(o.PreviousManagers, manager) || o.Adopt == applyset.AdoptAny && o.isOtherSetManager(manager))
}

// isOtherSetManager reports whether a field manager is the one that this program
// uses for members of another set.
func (o Owner) isOtherSetManager(manager string) bool {
	base, _, ok := strings.Cut(o.Manager, ":")
	return ok && strings.HasPrefix(manager, base+":")
}

// FormerSetManagers returns the field managers of sets that a live object is no member of:
// it was released, or its label was removed. Their fields migrate to the run that applies
// the object next. A set's own records are members of none and stay with it.
func (o Owner) FormerSetManagers(live *unstructured.Unstructured) []string {
	if live == nil || applyset.Record(live) != "" {
		return nil
	}
	var former []string
	base, _, _ := strings.Cut(o.Manager, ":")
	for w := range applyset.Writers(live) {
		ofSet := strings.HasPrefix(w.Manager, base+":") && w.Operation == metav1.ManagedFieldsOperationApply
		if ofSet && w.Manager != o.Manager && !applyset.IsManager(w.Manager, applyset.Owner(live)) {
			former = append(former, w.Manager)
		}
	}
	return former
}

// otherSetManagers returns the field managers that made a live object a member of
// another set, if it may be taken over.
func (o Owner) otherSetManagers(live *unstructured.Unstructured) []string {
	if o.Adopt != applyset.AdoptAny {
		return nil
	}
	return slices.DeleteFunc(applyset.MembershipManagers(live), func(manager string) bool { return manager == o.Manager })
}

// PreviousManagersOf returns the managers whose fields of a live object are
// migrated.
func (o Owner) PreviousManagersOf(live *unstructured.Unstructured) []string {
	owners := append(o.otherSetManagers(live), o.FormerSetManagers(live)...)
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "" && o.isPreviousManager(entry.Manager, entry.Operation) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

// OwnFields returns the fields of a live object that this run's manager owns, and fields that
// are migrated to it.
func (o Owner) OwnFields(live *unstructured.Unstructured) *fieldpath.Set {
	return OwnedBy(live, o.isOwnEntry(live))
}

// ForeignFields returns the fields of a live object that other managers own: not this run's,
// and none whose fields are migrated to it.
func (o Owner) ForeignFields(live *unstructured.Unstructured) *fieldpath.Set {
	isOwn := o.isOwnEntry(live)
	return OwnedBy(live, func(e metav1.ManagedFieldsEntry) bool { return !isOwn(e) })
}

// isOwnEntry returns a function that reports whether this run's manager owns the fields of an
// entry of a live object's managedFields, or they are migrated to it.
func (o Owner) isOwnEntry(live *unstructured.Unstructured) func(metav1.ManagedFieldsEntry) bool {
	former := o.FormerSetManagers(live)
	return func(e metav1.ManagedFieldsEntry) bool {
		own := slices.Contains(former, e.Manager) || e.Manager == o.Manager && e.Operation == metav1.ManagedFieldsOperationApply || o.isPreviousManager(e.Manager, e.Operation)
		return own && e.Subresource == ""
	}
}

// ConflictsOnlyWithPrevious reports whether all conflicts are with previous managers, or
// with the manager of another set whose members may be taken over: their
// fields are migrated once instead of forced. A conflict about membership
// itself counts only with AdoptAny. former are the FormerSetManagers of the object.
func (o Owner) ConflictsOnlyWithPrevious(err error, former []string) bool {
	if fault.IsMembershipConflict(err) && o.Adopt != applyset.AdoptAny {
		return false
	}
	found := fault.Conflicts(err)
	owners := map[string]bool{}
	for _, c := range found {
		if c.IsAboutMembership() && o.Adopt == applyset.AdoptAny {
			owners[c.Manager] = true
		}
	}
	for _, c := range found {
		if !owners[c.Manager] && !slices.Contains(former, c.Manager) && !o.isPreviousManager(c.Manager, metav1.ManagedFieldsOperationUpdate) && !o.isPreviousManager(c.Manager, metav1.ManagedFieldsOperationApply) {
			return false
		}
	}
	return len(found) > 0
}

// MayTake reports whether all fields in conflict may be taken: fields of previous managers, and
// fields that force may take. former are the FormerSetManagers of the object.
func (o Owner) MayTake(err error, former []string) bool {
	if fault.IsMembershipConflict(err) {
		return o.ConflictsOnlyWithPrevious(err, former)
	}
	found := fault.Conflicts(err)
	return len(found) > 0 && !slices.ContainsFunc(found, func(c fault.Conflict) bool {
		previous := o.isPreviousManager(c.Manager, metav1.ManagedFieldsOperationUpdate) || o.isPreviousManager(c.Manager, metav1.ManagedFieldsOperationApply)
		return !previous && !slices.Contains(former, c.Manager) && !o.Force.From(c.Manager)
	})
}

// MayForce reports whether force may resolve a conflict: never one about
// membership, and only if all its fields may be taken.
func (o Owner) MayForce(err error) bool {
	conflicts := apierrors.IsConflict(err) && fault.IsFieldConflict(err) && !fault.IsMembershipConflict(err)
	return conflicts && !slices.ContainsFunc(fault.Conflicts(err), func(c fault.Conflict) bool { return !o.Force.From(c.Manager) })
}

// Applied reports whether runs of this set, or without a set, have applied a live object, as
// opposed to one that would be adopted: fields that were only taken over are no proof.
func (o Owner) Applied(live *unstructured.Unstructured) bool {
	owner := applyset.Owner(live)
	return (owner == "" || owner == o.Set) && !o.adopts(live)
}

// ConflictsOnlyWithPlaceholder reports whether all fields in conflict belong to the
// API server's placeholder manager for fields from before the first apply, so
// that no real manager is known, and the object may become a member.
func (o Owner) ConflictsOnlyWithPlaceholder(err error) bool {
	found := fault.Conflicts(err)
	free := o.Adopt == applyset.AdoptAny || !fault.IsMembershipConflict(err)
	return len(found) > 0 && free && !slices.ContainsFunc(found, func(c fault.Conflict) bool { return c.Manager != applyset.BeforeFirstApply })
}

// IsOwn reports whether a live object is a member of the run's set, or,
// without a set, was ever applied by this manager.
func (o Owner) IsOwn(live *unstructured.Unstructured) bool {
	if o.Set != "" {
		return applyset.Owner(live) == o.Set
	}
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == o.Manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}
