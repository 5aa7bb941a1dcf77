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
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Adopt says which objects that exist already a run may make members of its
// apply set.
type Adopt string

// What may be adopted.
const (
	AdoptNever   Adopt = "never"   // none
	AdoptUnowned Adopt = "unowned" // those of no set; the default
	AdoptAny     Adopt = "any"     // those of other sets, too
)

// Membership says which apply set (KEP-3659) the resources of a run become
// members of. Its zero value is none.
type Membership struct {
	Set   string // the id
	Adopt Adopt  // default AdoptUnowned
	// Predecessors are field managers of earlier runs or other tools whose Apply
	// entries on the resources become ours; else a field that the manifest drops
	// later would live on.
	Predecessors []string
}

// label makes an object, which is written, a member.
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

// refuses says why a live object may not become a member; nil when it may. The
// set that has it is called as named does.
func (m Membership) refuses(live *unstructured.Unstructured, named func(set, namespace string) string) error {
	owner := applyset.Owner(live)
	switch {
	case m.Set == "" || owner == m.Set:
		return nil
	case owner != "" && m.Adopt != AdoptAny:
		return fmt.Errorf("it is a member of another apply set (%s): take it out of that one first, or take it over with --take-over", named(owner, live.GetNamespace()))
	case owner == "" && m.Adopt == AdoptNever:
		return fmt.Errorf("it exists and belongs to no apply set, and --adopt=never leaves such objects alone: let it be adopted with --adopt=unowned, or give yours another name")
	}
	return nil
}

// refuseForeign fails what may not be taken, before anything is written.
func (r *run) refuseForeign(ctx context.Context) {
	named := r.a.nameSets(ctx)
	for i := range r.steps {
		if err := r.refusal(i, named); err != nil {
			r.fail(i, Failed, err)
			r.over = true
		}
	}
}

func (r *run) refusal(i int, named func(set, namespace string) string) error {
	if live := r.steps[i].found; live != nil {
		return r.a.Membership.refuses(live, named)
	}
	return r.a.Membership.refusesUnread(r.steps[i].unread)
}

// Refuses tells what Run would refuse because of whose it is. It reads what there
// is, as Run does, and writes nothing.
func (a Applier) Refuses(ctx context.Context, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) error {
	r := newRun(a.withDefaults(), plan, objects)
	r.survey(ctx)
	named := a.nameSets(ctx)
	var errs []error
	for i, s := range r.steps {
		if err := r.refusal(i, named); err != nil {
			errs = append(errs, &Error{Wave: plan.WaveTitle(s.Wave), Op: OpApply, ID: s.ID, Err: err})
		}
	}
	return errors.Join(errs...)
}

// predecessor tells whether what a field manager owns by an operation becomes
// ours. Whoever else wrote members of this very set was an earlier run.
func (a Applier) predecessor(manager string, op metav1.ManagedFieldsOperationType) bool {
	if op == metav1.ManagedFieldsOperationUpdate {
		return clientSideManagers().Has(manager)
	}
	m := a.Membership
	return manager != a.Manager && (applyset.IsManager(manager, m.Set) || slices.Contains(m.Predecessors, manager) || m.Adopt == AdoptAny && a.ofAnotherSet(manager))
}

// ofAnotherSet tells whether a field manager is one that we write another set's
// members with.
func (a Applier) ofAnotherSet(manager string) bool {
	base, _, ok := strings.Cut(a.Manager, ":")
	return ok && strings.HasPrefix(manager, base+":")
}

// inherits reports whether a live object has fields of a predecessor that become
// ours. It is asked of every answer, and reads no more of managedFields than it
// must.
func (a Applier) inherits(live *unstructured.Unstructured) bool {
	candidate := len(a.formerOwners(live)) > 0
	for w := range writers(live) {
		candidate = candidate || w.subresource == "" && a.predecessor(w.manager, w.operation)
	}
	return candidate && a.inherit(live).Changes
}

// inherit is what becomes of managedFields of a live object when the fields of
// predecessors become ours.
func (a Applier) inherit(live *unstructured.Unstructured) applyset.Inheritance {
	return inherit(live, a.bequeathing(live), applyset.Claimants(live), a.Manager)
}

// inherit lets a manager take over what predecessors own by apply, kubectl's
// client-side apply included, whatever field manager that goes by where it is one
// of those that made the object a member.
func inherit(live *unstructured.Unstructured, predecessors, claimants []string, manager string) applyset.Inheritance {
	return applyset.Inherit(live, manager, func(entry metav1.ManagedFieldsEntry) bool {
		switch {
		case entry.Manager == manager:
			return false
		case entry.Operation == metav1.ManagedFieldsOperationUpdate:
			return clientSideManagers().Has(entry.Manager) || slices.Contains(predecessors, entry.Manager) && slices.Contains(claimants, entry.Manager)
		}
		return slices.Contains(predecessors, entry.Manager)
	})
}

// formerOwners are the field managers that made a live object, which may be
// taken from them, a member of another set.
func (a Applier) formerOwners(live *unstructured.Unstructured) []string {
	if a.Membership.Adopt != AdoptAny {
		return nil
	}
	return slices.DeleteFunc(applyset.Claimants(live), func(manager string) bool { return manager == a.Manager })
}

// bequeathing are all whose fields of a live object become ours.
func (a Applier) bequeathing(live *unstructured.Unstructured) []string {
	owners := a.formerOwners(live)
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "" && a.predecessor(entry.Manager, entry.Operation) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

// onlyPredecessors reports whether every field in conflict belongs to one, or to
// the manager of another set whose members may be taken: those are taken over
// once, not fought for. Membership itself is taken from no other set unless that
// is allowed.
func (a Applier) onlyPredecessors(err error) bool {
	if contestsMembership(err) && a.Membership.Adopt != AdoptAny {
		return false
	}
	found := conflicts(err)
	owners := map[string]bool{}
	for _, c := range found {
		if c.contestsMembership() && a.Membership.Adopt == AdoptAny {
			owners[c.manager] = true
		}
	}
	for _, c := range found {
		if !owners[c.manager] && !a.predecessor(c.manager, metav1.ManagedFieldsOperationUpdate) && !a.predecessor(c.manager, metav1.ManagedFieldsOperationApply) {
			return false
		}
	}
	return len(found) > 0
}

// mayForce tells whether a conflict may be ended by force: never one about
// whose member the object is.
func (a Applier) mayForce(err error) bool {
	return a.ForceConflicts && apierrors.IsConflict(err) && fieldConflict(err) && !contestsMembership(err)
}

// contestsMembership recognises the refusal to move a member from one set to
// another.
func contestsMembership(err error) bool {
	return slices.ContainsFunc(conflicts(err), conflict.contestsMembership)
}

// owns reports whether a live object is one that runs with this set, or without
// any, have applied: not one that would be adopted.
func (a Applier) owns(live *unstructured.Unstructured) bool {
	base, _, _ := strings.Cut(a.Manager, ":")
	owner := applyset.Owner(live)
	return (owner == "" || owner == a.Membership.Set) && slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" &&
			(entry.Manager == a.Manager || entry.Manager == base || applyset.IsManager(entry.Manager, a.Membership.Set))
	})
}

func (c conflict) contestsMembership() bool {
	return c.field == ".metadata.labels."+applyset.PartOfLabel
}
