package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// SetDeletion deletes a set: its members in the reverse of the order in which
// they were applied, then its history and its parent.
type SetDeletion struct {
	SetRef
	Remover remove.Remover // required; with DryRun nothing is written
	// OnPlanned is called with the order before anything is deleted; optional.
	OnPlanned func(*ordering.Deletion)
	// OnNote is called with remarks for people; optional.
	OnNote func(string)
	// Hooks applies the hooks of the revision that was deployed last, before
	// and after the members are deleted; nil: none run. Its Events reports
	// the hooks.
	Hooks *apply.Applier
}

// Do deletes the set. Protected members are kept and lose the set's label.
// While any other member is left the set is kept too, and a second call
// finishes the deletion. The Namespace of the set's records is deleted last
// if it was a member, and the records with it. It returns an *UnknownError when
// there is no such set, the errors of Remover.Run, and the lock's.
func (d SetDeletion) Do(ctx context.Context) (event.Summary, error) {
	d.SetRef = d.SetRef.withDefaults()
	if d.OnPlanned == nil {
		d.OnPlanned = func(*ordering.Deletion) {}
	}
	if d.Remover.DryRun {
		set, err := d.openKnown(ctx)
		if d.isAlreadyDeleted(ctx, err) {
			d.OnPlanned(d.emptyDeletion())
			return event.Summary{}, nil
		}
		if err != nil {
			return event.Summary{}, err
		}
		hooked, err := d.hooked(ctx, set)
		if err != nil {
			return event.Summary{}, err
		}
		return d.members(ctx, set, hooked)
	}
	if _, err := d.SetRef.open(ctx, false); err != nil {
		return event.Summary{}, err // before the lock, which is a write too
	}
	lock := d.lock()
	held, fence, release, err := lock.Acquire(ctx, d.LockTimeout)
	if fault.MissingNamespace(err) != "" {
		if err = d.leaveHome(ctx); err == nil {
			lock = d.lock()
			held, fence, release, err = lock.Acquire(ctx, d.LockTimeout)
		}
	}
	switch {
	case fault.IsNamespaceTerminating(err): // an earlier run got that far
		return d.finish(ctx)
	case err != nil:
		return event.Summary{}, err
	}
	summary, err := d.fenced(fence).deleteSet(held)
	err = lease.OrLost(held, err)
	release()
	var unknown *UnknownError
	if err != nil && !errors.As(err, &unknown) {
		return summary, err
	}
	return summary, errors.Join(err, lock.Drop(ctx))
}

// fenced returns the deletion with clusters that pass a fence.
func (d SetDeletion) fenced(fence kube.Fence) SetDeletion {
	d.Cluster, d.Remover.Cluster = d.Cluster.Fenced(fence), d.Remover.Cluster.Fenced(fence)
	if d.Hooks != nil {
		hooks := *d.Hooks
		hooks.Cluster = hooks.Cluster.Fenced(fence)
		d.Hooks = &hooks
	}
	return d
}

// lock returns the lock of the set. A deletion holds it beyond the deletion of the home,
// which may be a member, as long as no other run has claimed another home.
func (d SetDeletion) lock() lease.Lock {
	lock := d.SetRef.lock()
	lock.HeldWithoutNamespace = func(ctx context.Context) (bool, error) {
		home, err := set.RecordsNamespace(ctx, d.Cluster, d.Kind, d.Parent)
		return home == "" || home == d.Namespace, err
	}
	return lock
}

// leaveHome makes NewHome the home of a set whose home is gone, so that the rest of it
// can be deleted under a lock.
func (d *SetDeletion) leaveHome(ctx context.Context) error {
	_, err := d.openKnown(ctx)
	switch {
	case err != nil:
		return err
	case d.Parent.Namespace != "":
		return fmt.Errorf("namespace %q, which held apply set %s, does not exist any more, and members of the set do: recreate it, then run this again", d.Namespace, d.Parent)
	case !d.mayReplaceHome():
		return &homeError{set: d.Parent, home: d.Namespace, recorded: true}
	}
	d.Namespace, err = d.replaceHome(ctx, false)
	return err
}

// finish deletes the rest of a set whose Namespace is terminating, so that no run can
// take its lock, once a run that had it must have ended. The parent
// is deleted last: where that is gone, only the Namespace is left to wait
// for.
func (d SetDeletion) finish(ctx context.Context) (event.Summary, error) {
	if _, err := d.openKnown(ctx); err == nil {
		if err := lease.AwaitExpiry(ctx); err != nil {
			return event.Summary{}, err
		}
	}
	summary, err := d.deleteSet(ctx)
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		d.OnPlanned(d.emptyDeletion())
		err = nil
	}
	if err == nil {
		err = awaitGone(ctx, d.Cluster, d.Namespace, d.Remover.WaveTimeout)
		summary.OutOfTime = timeoutSummary(err).OutOfTime
	}
	return summary, err
}

// isAlreadyDeleted reports whether a set is unknown because its parent has been
// deleted and its Namespace is terminating.
func (d SetDeletion) isAlreadyDeleted(ctx context.Context, err error) bool {
	_, unknown := errors.AsType[*UnknownError](err)
	return unknown && isTerminating(ctx, d.Cluster, d.Namespace)
}

// emptyDeletion returns the deletion of such a set: nothing is left.
func (d SetDeletion) emptyDeletion() *ordering.Deletion {
	return &ordering.Deletion{Notes: []string{fmt.Sprintf("of apply set %s, only namespace %q is left, which is being deleted", d.Parent, d.Namespace)}}
}

// Order returns the order of the deletion, and the live members. It only reads.
func (d SetDeletion) Order(ctx context.Context) (*ordering.Deletion, map[object.ID]*unstructured.Unstructured, error) {
	d.SetRef = d.SetRef.withDefaults()
	set, err := d.openKnown(ctx)
	if d.isAlreadyDeleted(ctx, err) {
		return d.emptyDeletion(), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	members, err := set.Members(ctx)
	if err != nil {
		return nil, nil, err
	}
	hooked, err := d.hooked(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	removal, err := d.provenRemoval(ctx, set, &members, hooked)
	if err != nil {
		return nil, nil, err
	}
	order, _, err := removal.order(ctx, members.Live)
	return order, members.Live, err
}

func (d SetDeletion) deleteSet(ctx context.Context) (event.Summary, error) {
	set, err := d.openKnown(ctx)
	if err != nil {
		return event.Summary{}, err
	}
	if err := set.CheckRecordsNamespace(d.Namespace); err != nil {
		return event.Summary{}, err
	}
	hooked, err := d.hooked(ctx, set)
	if err != nil {
		return event.Summary{}, err
	}
	summary, err := d.members(ctx, set, hooked)
	if err != nil {
		return hooked.summed(summary), err
	}
	if err := d.unlabelKept(ctx, set, summary); err != nil {
		return hooked.summed(summary), err
	}
	if err := hooked.after(ctx, summary); err != nil {
		return hooked.summed(summary), err
	}
	summary = hooked.summed(summary)
	notes, err := d.history(set).Drop(activity.For(ctx, "of the history"), set.HistoryIndex())
	if err != nil {
		return summary, err
	}
	err = set.Delete(ctx)
	if note := set.ReleaseNote(); note != "" {
		notes = append(notes, note)
	}
	for _, note := range notes {
		if d.OnNote != nil {
			d.OnNote(note)
		}
	}
	return summary, err
}

func (d SetDeletion) openKnown(ctx context.Context) (*set.Set, error) {
	set, err := d.SetRef.open(ctx, false)
	if err == nil && (set.Exists() || !isTerminating(ctx, d.Cluster, d.Namespace)) {
		err = set.Recover(ctx, d.history(set))
	}
	if err == nil && !set.Known() {
		set.FindLost(ctx)
	}
	if err == nil && !set.Known() {
		err = &UnknownError{d.Parent}
	}
	return set, err
}

// UnknownError reports that a set does not exist.
type UnknownError struct{ parent object.ID }

// Error names the set that was looked for.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("apply set %s not found: nothing to delete", e.parent)
}

// members deletes all members of the set.
func (d SetDeletion) members(ctx context.Context, set *set.Set, hooked *hookedDeletion) (event.Summary, error) {
	members, err := set.Members(activity.For(ctx, "for the deletion"))
	if err != nil {
		return event.Summary{}, err
	}
	if err := members.CheckListable("run this again"); err != nil {
		return event.Summary{}, err
	}
	removal, err := d.provenRemoval(ctx, set, &members, hooked)
	if err != nil {
		return event.Summary{}, err
	}
	summary, err := removal.run(ctx, members.Live)
	return summary, errors.Join(err, members.CheckVerified())
}

// provenRemoval returns the deletion of members of the set, except any that no
// revision contains.
func (d SetDeletion) provenRemoval(ctx context.Context, set *set.Set, members *set.Members, hooked *hookedDeletion) (memberDeletion, error) {
	past, err := withhold(ctx, set, d.history(set), members, members.Live, history.Undeployed(hooked.entries))
	if err != nil {
		return memberDeletion{}, err
	}
	hooked.uninstalls(*members)
	removal := d.removal(set, *members, hooked)
	removal.past = past
	return removal, nil
}

// removal returns the deletion of members of the set, none of which is kept
// for the set's sake.
func (d SetDeletion) removal(set *set.Set, members set.Members, hooked *hookedDeletion) memberDeletion {
	keep := func(object.ID) string { return "" }
	return memberDeletion{
		set: set, history: d.history(set), remover: d.Remover, removal: applyset.Delete, keepReason: keep, onPlanned: d.OnPlanned,
		adopted: history.Undeployed(hooked.entries), release: giveBack,
		notes: slices.Concat(set.WithRecoveryNote(members.Remarks()), hooked.remarks()), beforeDelete: hooked.before, alsoDeleted: hooked.made,
		reportsEmpty: len(hooked.all) > 0,
	}
}

// giveBack releases objects that runs adopted.
func giveBack(ctx context.Context, set *set.Set, adopted []history.Adopted) error {
	var errs []error
	for _, a := range adopted {
		errs = append(errs, set.GiveBack(ctx, a))
	}
	return errors.Join(errs...)
}

// unlabelKept removes the set's label from members that were kept.
func (d SetDeletion) unlabelKept(ctx context.Context, set *set.Set, summary event.Summary) error {
	for _, result := range summary.Results {
		if result.State != event.Kept {
			continue
		}
		if err := set.Release(ctx, result.ID); err != nil {
			return err
		}
	}
	return nil
}
