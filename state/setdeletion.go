package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/lease"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// SetDeletion deletes a set: its members in the reverse of the order in which
// they were applied, then its history and its parent.
type SetDeletion struct {
	SetRef
	Remover apply.Remover // required; with DryRun nothing is written
	// OnPlanned is called with the order before anything is deleted; optional.
	OnPlanned func(*ordering.Deletion)
	// Hooks applies the hooks of the revision that was deployed last, before
	// and after the members are deleted; nil: none run. Its Events reports
	// the hooks.
	Hooks *apply.Applier
}

// Do deletes the set. Protected members are kept and lose the set's label.
// While any other member is left the set is kept too, and a second call
// finishes the deletion. The Namespace of the set's records is deleted last
// if it was a member, and the records with it. It returns an *UnknownError when
// there is no such set, the errors of Remover.Run, and those of the lock.
func (d SetDeletion) Do(ctx context.Context) (apply.Summary, error) {
	d.SetRef = d.SetRef.withDefaults()
	if d.OnPlanned == nil {
		d.OnPlanned = func(*ordering.Deletion) {}
	}
	if d.Remover.DryRun {
		set, err := d.openKnown(ctx)
		if d.isAlreadyDeleted(ctx, err) {
			d.OnPlanned(d.emptyDeletion())
			return apply.Summary{}, nil
		}
		if err != nil {
			return apply.Summary{}, err
		}
		hooked, err := d.hooked(ctx, set)
		if err != nil {
			return apply.Summary{}, err
		}
		return d.members(ctx, set, hooked)
	}
	if _, err := d.SetRef.open(ctx, false); err != nil {
		return apply.Summary{}, err // before the lock, which is a write too
	}
	lock := d.lock()
	held, release, err := lock.Acquire(ctx, d.LockTimeout)
	switch {
	case kubeerr.MissingNamespace(err) != "":
		return apply.Summary{}, &UnknownError{d.Parent}
	case kubeerr.IsNamespaceTerminating(err): // an earlier run got that far
		return d.finish(ctx)
	case err != nil:
		return apply.Summary{}, err
	}
	summary, err := d.deleteSet(held)
	err = lease.OrLost(held, err)
	release()
	var unknown *UnknownError
	if err != nil && !errors.As(err, &unknown) {
		return summary, err
	}
	return summary, errors.Join(err, lock.Drop(ctx))
}

// finish deletes the rest of a set whose Namespace is terminating. The parent
// is deleted last: where that is gone, only the Namespace is left to wait
// for.
func (d SetDeletion) finish(ctx context.Context) (apply.Summary, error) {
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

// Order returns what would be deleted, in which order, and the live members. It
// only reads.
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
	order, _, err := d.removal(set, members, hooked).order(ctx, members.Live)
	return order, members.Live, err
}

func (d SetDeletion) deleteSet(ctx context.Context) (apply.Summary, error) {
	set, err := d.openKnown(ctx)
	if err != nil {
		return apply.Summary{}, err
	}
	if err := set.CheckRecordsNamespace(d.Namespace); err != nil {
		return apply.Summary{}, err
	}
	hooked, err := d.hooked(ctx, set)
	if err != nil {
		return apply.Summary{}, err
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
	if err := d.history().Drop(activity.For(ctx, "of the history")); err != nil {
		return summary, err
	}
	return summary, set.Delete(ctx)
}

func (d SetDeletion) openKnown(ctx context.Context) (*Set, error) {
	set, err := d.SetRef.open(ctx, false)
	if err == nil && (set.Exists() || !isTerminating(ctx, d.Cluster, d.Namespace)) {
		err = set.Recover(ctx, d.history())
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
	return fmt.Sprintf("apply set %s not found: nothing to delete; name another with KIND/NAME or -n", e.parent)
}

// members deletes all members of the set.
func (d SetDeletion) members(ctx context.Context, set *Set, hooked *hookedDeletion) (apply.Summary, error) {
	members, err := set.Members(activity.For(ctx, "for the deletion"))
	if err != nil {
		return apply.Summary{}, err
	}
	if err := members.CheckListable("run this again"); err != nil {
		return apply.Summary{}, err
	}
	summary, err := d.removal(set, members, hooked).run(ctx, members.Live)
	return summary, errors.Join(err, members.CheckVerified())
}

// removal returns the deletion of members of the set, none of which is kept
// for the set's sake.
func (d SetDeletion) removal(set *Set, members Members, hooked *hookedDeletion) memberDeletion {
	keep := func(object.ID) string { return "" }
	return memberDeletion{
		set: set, history: d.history(), remover: d.Remover, keepReason: keep, onPlanned: d.OnPlanned,
		notes: slices.Concat(set.WithRecoveryNote(members.Remarks()), hooked.remarks()), beforeDelete: hooked.before, alsoDeleted: hooked.made,
		reportsEmpty: len(hooked.all) > 0,
	}
}

// unlabelKept removes the set's label from members that were kept.
func (d SetDeletion) unlabelKept(ctx context.Context, set *Set, summary apply.Summary) error {
	for _, result := range summary.Results {
		if result.State != apply.Kept {
			continue
		}
		if err := set.Unlabel(ctx, result.ID); err != nil {
			return fmt.Errorf("release %s, which is kept: %w", result.ID, err)
		}
	}
	return nil
}
