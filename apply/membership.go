package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Adopt selects which existing objects a run may make members of its apply
// set.
type Adopt string

// The policies of adoption.
const (
	AdoptNever   Adopt = "never"   // no object
	AdoptUnowned Adopt = "unowned" // objects of no set; the default
	AdoptAny     Adopt = "any"     // objects of other sets, too
)

// Membership is the apply set (KEP-3659) whose members the resources of a run
// become. Its zero value is no set.
type Membership struct {
	Set   string // the id
	Adopt Adopt  // default AdoptUnowned
	// PreviousManagers are field managers of earlier runs or other tools. Their
	// Apply entries on the resources are migrated to this run's manager;
	// otherwise a field that the manifest drops later would remain.
	PreviousManagers []string
}

// label makes an object that is sent a member.
func (m Membership) label(obj *unstructured.Unstructured) {
	if m.Set == "" {
		return
	}
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[applyset.PartOfLabel] = m.Set
	obj.SetLabels(labels)
}

// membershipError returns an error when a live object may not become a member; nil
// when it may. named describes the set that owns the object.
func (m Membership) membershipError(live *unstructured.Unstructured, named func(set, namespace string) string) error {
	owner := applyset.Owner(live)
	switch {
	case m.Set == "" || owner == m.Set:
		return nil
	case owner != "" && m.Adopt != AdoptAny:
		return fmt.Errorf("it is a member of another apply set (%s): remove it from that set first, or take it over with --take-over", named(owner, live.GetNamespace()))
	case owner == "" && m.Adopt == AdoptNever:
		return fmt.Errorf("it exists and belongs to no apply set, and --adopt=never does not adopt it: use --adopt=unowned, or give your resource another name")
	}
	return nil
}

// failForeignMembers fails, before anything is written, the objects that may not
// become members.
func (r *run) failForeignMembers(ctx context.Context) {
	named := r.applier.nameSets(ctx)
	for i := range r.steps {
		if err := r.membershipErrorOf(i, named); err != nil {
			r.fail(i, Failed, err)
			r.Finished = true
		}
	}
}

func (r *run) membershipErrorOf(i int, named func(set, namespace string) string) error {
	if live := r.steps[i].listedObject; live != nil {
		return r.applier.Membership.membershipError(live, named)
	}
	return r.applier.Membership.unreadMembershipError(r.steps[i].readError)
}

// MembershipErrors returns the errors that Run would return because objects belong to
// other sets or to none. It reads the live objects as Run does and writes
// nothing.
func (a Applier) MembershipErrors(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) error {
	r := newRun(a.withDefaults(), plan, objects)
	r.readSnapshot(ctx)
	named := a.nameSets(ctx)
	var errs []error
	for i, s := range r.steps {
		if err := r.membershipErrorOf(i, named); err != nil {
			errs = append(errs, &Error{Wave: plan.WaveTitle(s.Wave), Op: OpApply, ID: s.ID, Err: err})
		}
	}
	return errors.Join(errs...)
}

// isPreviousManager reports whether the fields that a manager owns by an operation
// are migrated to this run's manager. Other managers of this set are earlier
// runs.
func (a Applier) isPreviousManager(manager string, op metav1.ManagedFieldsOperationType) bool {
	if op == metav1.ManagedFieldsOperationUpdate {
		return kube.ClientSideManagers().Has(manager)
	}
	m := a.Membership
	return manager != a.Manager && (applyset.IsManager(manager, m.Set) || slices.Contains(m.PreviousManagers, manager) || m.Adopt == AdoptAny && a.isOtherSetManager(manager))
}

// isOtherSetManager reports whether a field manager is the one that this program
// uses for members of another set.
func (a Applier) isOtherSetManager(manager string) bool {
	base, _, ok := strings.Cut(a.Manager, ":")
	return ok && strings.HasPrefix(manager, base+":")
}

// hasPreviousManagerFields reports whether a live object has fields of a previous manager
// to migrate. It is called for every answer, so it parses no more of
// managedFields than necessary.
func (a Applier) hasPreviousManagerFields(live *unstructured.Unstructured) bool {
	candidate := len(a.otherSetManagers(live)) > 0
	for w := range managedFieldsWriters(live) {
		candidate = candidate || w.subresource == "" && a.isPreviousManager(w.manager, w.operation)
	}
	return candidate && a.migratedOwnership(live).Changes
}

// migratedOwnership returns the managedFields of a live object after the fields of
// previous managers were migrated.
func (a Applier) migratedOwnership(live *unstructured.Unstructured) applyset.OwnershipMigration {
	return kube.InheritFields(live, a.previousManagersOf(live), applyset.MembershipManagers(live), a.Manager)
}

// otherSetManagers returns the field managers that made a live object a member of
// another set, if it may be taken over.
func (a Applier) otherSetManagers(live *unstructured.Unstructured) []string {
	if a.Membership.Adopt != AdoptAny {
		return nil
	}
	return slices.DeleteFunc(applyset.MembershipManagers(live), func(manager string) bool { return manager == a.Manager })
}

// previousManagersOf returns the managers whose fields of a live object are
// migrated.
func (a Applier) previousManagersOf(live *unstructured.Unstructured) []string {
	owners := a.otherSetManagers(live)
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "" && a.isPreviousManager(entry.Manager, entry.Operation) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

// conflictsOnlyWithPrevious reports whether all conflicts are with previous managers, or
// with the manager of another set whose members may be taken over: their
// fields are migrated once instead of forced. A conflict about membership
// itself counts only with AdoptAny.
func (a Applier) conflictsOnlyWithPrevious(err error) bool {
	if kubeerr.IsMembershipConflict(err) && a.Membership.Adopt != AdoptAny {
		return false
	}
	found := kubeerr.Conflicts(err)
	owners := map[string]bool{}
	for _, c := range found {
		if c.IsAboutMembership() && a.Membership.Adopt == AdoptAny {
			owners[c.Manager] = true
		}
	}
	for _, c := range found {
		if !owners[c.Manager] && !a.isPreviousManager(c.Manager, metav1.ManagedFieldsOperationUpdate) && !a.isPreviousManager(c.Manager, metav1.ManagedFieldsOperationApply) {
			return false
		}
	}
	return len(found) > 0
}

// mayForce reports whether force may resolve a conflict: never one about
// membership.
func (a Applier) mayForce(err error) bool {
	return a.ForceConflicts && apierrors.IsConflict(err) && kubeerr.IsFieldConflict(err) && !kubeerr.IsMembershipConflict(err)
}

// owns reports whether runs of this set, or without a set, have applied a
// live object, as opposed to one that would be adopted.
func (a Applier) owns(live *unstructured.Unstructured) bool {
	base, _, _ := strings.Cut(a.Manager, ":")
	owner := applyset.Owner(live)
	return (owner == "" || owner == a.Membership.Set) && slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" &&
			(entry.Manager == a.Manager || entry.Manager == base || applyset.IsManager(entry.Manager, a.Membership.Set))
	})
}
