package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/live/inventory"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/set"
)

// A run that adopts objects of a Helm release, a kapp app, … adopts no more than its stream
// contains. The other objects of the tool's record would belong to no tool. With TakeOver the
// parent lists them before the first write, and they become part of the set right before the set
// is pruned, when all of the stream is ready.

// adopted returns the live objects of the stream that are not in the set yet, also members
// of other sets, if the run adopts any. Objects that may not be read are left out.
func (r Run) adopted(ctx context.Context, existing []applyevent.Existing) map[object.ID]*unstructured.Unstructured {
	if !slices.ContainsFunc(existing, func(e applyevent.Existing) bool { return e.Adopted }) {
		return nil
	}
	return r.outsideOfSet(ctx)
}

// adoptedIn is adopted, from a preview.
func (r Run) adoptedIn(ctx context.Context, of *preview.Preview) map[object.ID]*unstructured.Unstructured {
	if !slices.ContainsFunc(of.Rows, func(row preview.Row) bool { return row.Action == preview.ActionAdopt }) {
		return nil
	}
	return r.outsideOfSet(ctx) // the rows do not show field managers
}

func (r Run) outsideOfSet(ctx context.Context) map[object.ID]*unstructured.Unstructured {
	found, _ := apply.Find(ctx, r.Cluster, r.Stream.Resources)
	maps.DeleteFunc(found, func(_ object.ID, live *unstructured.Unstructured) bool {
		return applyset.Owner(live) == r.Applier.Membership.Set
	})
	return found
}

// takeFrom makes the parent list the objects left in records of other tools that name adopted
// objects. It returns notes about the tools, and an error if a record cannot be read, or its
// tool would undo the take-over.
func (r Run) takeFrom(ctx context.Context, set *set.Set, adopted map[object.ID]*unstructured.Unstructured) ([]string, error) {
	if r.Applier.Membership.Adopt == applyset.AdoptNever {
		adopted = nil
	}
	records, err := inventory.Of(ctx, r.Cluster, adopted)
	var notes []string
	if err != nil && !r.TakeOver {
		notes, err = append(notes, unreadable(err)), nil
	}
	for _, record := range records {
		if !r.TakeOver || record.Elsewhere {
			notes = append(notes, r.notesOnShared(ctx, record)...)
			continue
		}
		note, failed := r.takeLeft(ctx, set, record)
		notes, err = append(notes, note...), errors.Join(err, failed)
	}
	if !r.TakeOver && !r.Prune {
		return notes, err
	}
	more, failed := r.checkTaken(ctx, set, records)
	return append(notes, more...), errors.Join(err, failed)
}

// containsOrHooks reports whether the stream contains an object, also as a hook.
func (r Run) containsOrHooks(id object.ID) bool {
	return r.contains(id) || slices.ContainsFunc(r.Stream.Hooks, func(hook ordering.Resource) bool { return hook.ID == id })
}

// takeLeft makes the parent list the objects left in a record. It returns a note if the run does
// not prune them.
func (r Run) takeLeft(ctx context.Context, set *set.Set, record inventory.Inventory) ([]string, error) {
	left, err := r.leftIn(ctx, record)
	if err != nil {
		return nil, fmt.Errorf("%w: allow that, or run without --take-over", err)
	}
	ids := slices.SortedFunc(maps.Keys(left), object.Compare)
	if err := set.TakeFrom(record, ids); err != nil || r.Prune || len(ids) == 0 {
		return nil, err
	}
	return []string{alsoContains(record, ids) + "--prune deletes them"}, nil
}

// alsoContains begins a note about the objects left in a record.
func alsoContains(record inventory.Inventory, ids []object.ID) string {
	return fmt.Sprintf("%s also contains %s, which the stream does not contain: ", record.Title, applyevent.JoinNames(ids))
}

// checkTaken returns an error if a tool whose objects the set takes over, now or since a run that
// did not end, would undo that, and notes with the next steps for it. The records that are known
// need not be read. One that cannot be read any more adds nothing to the parent's list, and is no
// error.
func (r Run) checkTaken(ctx context.Context, set *set.Set, known []inventory.Inventory) (notes []string, err error) {
	for _, taken := range set.TakenFrom() {
		record := &taken
		if i := slices.IndexFunc(known, func(record inventory.Inventory) bool { return record.Ref == taken.Ref }); i >= 0 {
			record = &known[i]
		} else if now, failed := inventory.Read(ctx, r.Cluster, taken.Ref); failed != nil {
			notes = append(notes, fmt.Sprintf("check that the tool of %s is stopped: %v", taken.Title, failed))
		} else if now != nil && !now.Elsewhere {
			record = now
		}
		err = errors.Join(err, checkStopped(*record))
		notes = append(notes, notesOn(*record)...)
	}
	return notes, err
}

// checkStopped returns an error if the tool of a record would undo a take-over.
func checkStopped(record inventory.Inventory) error {
	if record.Stop.Do == "" {
		return nil
	}
	return fmt.Errorf("take over the objects of %s: %s: %s", record.Title, record.Stop.Why, record.Stop.Do)
}

// notesOn returns a note with the next step for a tool when all of its objects are taken over.
func notesOn(record inventory.Inventory) []string {
	switch {
	case record.Elsewhere:
		return []string{record.Title + " applied objects of the stream, and is not in this cluster: if it is in another one, stop it there"}
	case record.Forget.Do != "":
		return []string{fmt.Sprintf("takes over %s: once the run has succeeded, %s: %s", record.Title, record.Forget.Why, record.Forget.Do)}
	}
	return nil
}

// notesOnShared returns notes about a record that names objects of the stream and is not taken
// over.
func (r Run) notesOnShared(ctx context.Context, record inventory.Inventory) []string {
	var notes []string
	if record.Stop.Do != "" {
		notes = append(notes, fmt.Sprintf("%s also applies objects of the stream: %s: %s", record.Title, record.Stop.Why, record.Stop.Do))
	}
	left, err := r.leftIn(ctx, record)
	switch {
	case err != nil:
		return append(notes, unreadable(err))
	case len(left) > 0:
		ids := slices.SortedFunc(maps.Keys(left), object.Compare)
		return append(notes, alsoContains(record, ids)+"--take-over --prune deletes them")
	}
	return append(notes, notesOn(record)...)
}

func unreadable(err error) string {
	return fmt.Sprintf("objects that the stream does not contain may be left of another tool: %v", err)
}

// leftIn returns the live objects of a record that are neither in the stream nor in a set.
func (r Run) leftIn(ctx context.Context, record inventory.Inventory) (map[object.ID]*unstructured.Unstructured, error) {
	left, err := record.Left(ctx, r.Cluster, r.containsOrHooks)
	maps.DeleteFunc(left, func(_ object.ID, live *unstructured.Unstructured) bool {
		return applyset.Owner(live) != "" || applyset.Record(live) != ""
	})
	return left, err
}

// claimLeft makes members of the objects that the parent lists from other tools' records,
// so that they are pruned, and returns the titles of the records. A dry run only assumes
// that.
func (r Run) claimLeft(ctx context.Context, set *set.Set, members *set.Members) (map[object.ID]string, error) {
	titles := map[object.ID]string{}
	for _, record := range set.TakenFrom() {
		left, err := r.leftIn(ctx, record)
		if err != nil {
			return nil, err
		}
		if err := r.claimAll(ctx, set, left); err != nil {
			return nil, err
		}
		for id, claimed := range left {
			members.Live[id], titles[id] = claimed, record.Title
		}
	}
	if !r.Remover.DryRun {
		set.ForgetTaken() // they are members
	}
	return titles, nil
}

// claimAll makes live objects members, and replaces them by the results.
func (r Run) claimAll(ctx context.Context, set *set.Set, left map[object.ID]*unstructured.Unstructured) error {
	ids := slices.SortedFunc(maps.Keys(left), object.Compare)
	if err := set.Accept(ids); err != nil {
		return err
	}
	if !r.Remover.DryRun && len(ids) > 0 {
		if err := set.Widen(ctx, slices.Concat(r.members(), ids)); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if r.Remover.DryRun {
			left[id] = assumedMember(left[id], r.Applier.Membership.Set, r.Applier.Manager)
			continue
		}
		claimed, err := r.claim(ctx, left[id])
		if err != nil {
			return fmt.Errorf("take over %s: %w", id, err)
		}
		left[id] = claimed
	}
	return nil
}

// claim labels a live object as a member.
func (r Run) claim(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind, _ := r.Cluster.Kind(live.GroupVersionKind())
	claimed, err := r.Cluster.Apply(ctx, kind, labelOnly(live, r.Applier.Membership.Set), kube.PatchOptions{Manager: r.Applier.Manager})
	if err == nil {
		claimed.SetGroupVersionKind(live.GroupVersionKind())
	}
	return claimed, err
}

// labelOnly returns the body of a PATCH that only labels an object as a member of a set.
func labelOnly(live *unstructured.Unstructured, set string) *unstructured.Unstructured {
	body := write.Identity(live)
	body.SetLabels(map[string]string{applyset.PartOfLabel: set})
	return body
}

// assumedMember returns an object as claim would return it.
func assumedMember(live *unstructured.Unstructured, set, manager string) *unstructured.Unstructured {
	out := live.DeepCopy()
	labels := out.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[applyset.PartOfLabel] = set
	out.SetLabels(labels)
	out.SetManagedFields(append(out.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: out.GetAPIVersion(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + applyset.PartOfLabel + `":{}}}}`),
	}))
	return out
}
