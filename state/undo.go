package state

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/state/history"
)

// errPruned reports a failure after the point of no return.
var errPruned = errors.New("not rolled back: all of the stream is ready, and what the prune has deleted would come back without its data; fix the cause and apply again")

// undo undoes a failed run, or its atomic stacks. A run that was
// interrupted, or that ended before it might write, is not undone; one that
// found everything unchanged and timed out waiting is.
func (r Run) undo(ctx context.Context, tried attempt) error {
	if limit := r.Applier.Timeout; limit > 0 && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		var cancel context.CancelFunc // the rollback has a timeout of its own
		ctx, cancel = loop.PastDeadline(ctx, limit)
		defer cancel()
	}
	if r.Undo == nil && len(r.Atomic) == 0 || !tried.began || ctx.Err() != nil || errors.Is(tried.failure, event.ErrInterrupted) {
		return tried.failure
	}
	if tried.pruned {
		return errors.Join(tried.failure, errPruned)
	}
	if r.Undo == nil {
		return r.undoStacks(ctx, tried)
	}
	var target *history.Revision
	out := r.goBack(ctx, tried, func() (event.Summary, error) { return r.uninstalled(ctx, tried) }, func(before *history.Revision) (event.Summary, error) {
		target = before
		return r.rollBackTo(ctx, before, tried)
	})
	if r.Prune && target != nil {
		out.Left = idsOf(tried.notCreated(target)) // the other members that are not in the revision were pruned
	}
	return out
}

// rollBackTo applies a revision, then deletes objects that the failed run
// created.
func (r Run) rollBackTo(ctx context.Context, before *history.Revision, tried attempt) (event.Summary, error) {
	back, err := r.Undo(ctx, before)
	if err != nil {
		return event.Summary{}, err
	}
	back.SetRef, back.Applier.Cluster, back.Remover.Cluster = r.SetRef, r.Applier.Cluster, r.Remover.Cluster // its lock is held
	back.undone.created, back.undone.adopted = tried.created(before), tried.adopted(before)
	return back.withDefaults().apply(ctx)
}

// UndoTarget returns the revision that a run that fails would be rolled back
// to; nil when none is deployed, or the set does not exist.
func (r Run) UndoTarget(ctx context.Context) (*history.Revision, error) {
	r = r.withDefaults()
	set, err := r.open(ctx, true)
	if err != nil {
		return nil, err
	}
	return r.history(set).DeployedBefore(ctx, 0)
}
