package state

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
)

// Run applies a stream to a set, under the set's lock.
type Run struct {
	SetRef
	Applier apply.Applier  // its Manager is the base of the set's own; Run sets its Membership. Its Cluster defaults to the set's
	Plan    *ordering.Plan // required
	Stream  *apply.Stream  // required: the source of Plan
	// Prune deletes, with Remover, the members that the stream no longer
	// contains, once all of the stream is ready.
	Prune   bool
	Remover remove.Remover // also deletes objects that a failed run created, see Undo. Its Cluster defaults to the set's
	// Last is set when nothing follows the run that needs its resources. If it also deletes nothing
	// and is not undone when it fails, it ends without the status grace of resources on which
	// nothing depends, see apply.Hooks.
	Last bool
	// TakeOver takes over a set of another tool, and members of other sets.
	TakeOver bool
	// Metadata is the history's data on the run, in addition to its plan and
	// stream.
	Metadata RevisionMetadata
	// Precondition is called under the lock and before the first write, and by a dry run. Its
	// error ends the run; optional.
	Precondition func(context.Context) error
	// Ahead is what SetRef.ReadAhead of this set has begun to read, for one call of Do; default: Do
	// reads it.
	Ahead *Ahead
	// Check is called under the lock and before the first write, with a
	// preview of Do and the resources that Do has just applied because the
	// set's records are in them. Its error ends the run; optional.
	Check func(ctx context.Context, preview *preview.Preview, made []object.ID) error
	Callbacks
	OnFailure

	undone undoneRun                     // the run that this one undoes
	draft  func() (history.Draft, error) // waits for that of the run's revision; nil: it was not begun
}

// Callbacks report the next step of a run. All are optional.
type Callbacks struct {
	// OnNote is called with remarks on the set for people.
	OnNote func(string)
	// OnExisting is called before anything is written, with the objects of the stream as
	// they are, and the SortOrders of the newest revision. Its error ends the run.
	OnExisting func(existing []event.Existing, orders []string) error
	// OnLastRun is called before anything is written, with the times of the run that
	// deployed a revision last; they are zero where they are unknown.
	OnLastRun func(track.RunTimes)
	// OnRevision is called before the first write to a member, with the revision of the run.
	OnRevision func(number int)
	// OnNotUndone is called when the run failed and nothing was undone, with the revision
	// to which a rollback would go and the command for it.
	OnNotUndone func(revision int, command string)
	// OnPruning is called before anything is pruned, with the plan followed by
	// the waves of the prune.
	OnPruning func(*ordering.Plan)
	// OnRestoring is called before atomic stacks are restored to a revision,
	// with the plan for that.
	OnRestoring func(revision int, plan *ordering.Plan)
	// OnRemoving is called before the objects that a failed first run created
	// are deleted, with the plan for that.
	OnRemoving func(*ordering.Plan)
}

// OnFailure decides what is undone when a run fails; its zero value leaves the set as
// it is after the failure.
type OnFailure struct {
	// Undo returns the run that goes back to a revision of the set. It is
	// called under the lock when this run failed; the error of Do is then an
	// *UndoneError. If no revision was deployed before, Undo is not called,
	// and the objects that this run created are deleted.
	Undo func(context.Context, *history.Revision) (Run, error)
	// Atomic are the stacks whose changes are undone when the run fails
	// before they are ready as a whole; the error is then an *UndoneError.
	// Undo covers them too.
	Atomic []AtomicStack
}

// undoneRun describes a run to the run that undoes it.
type undoneRun struct {
	created []event.Result    // deleted when all of the stream is ready
	adopted []history.Adopted // then released
	// removeAfter is the plan that ends with the deletion of created; nil:
	// none.
	removeAfter *ordering.Plan
	// alsoDeleted reports objects that are deleted right after created; optional.
	alsoDeleted func(*unstructured.Unstructured) bool
}

// Do applies the stream, or does a dry run of it if Applier.DryRun is set. Before
// the first write to a member it adds all kinds and namespaces of the stream to
// the set's parent, so that every member can be found whenever the run ends. Its
// error joins those of Applier.Run and of the prune; a *lease.HeldError when
// another run holds the lock, a *lease.LostError when it was lost, and an
// *UndoneError for a run that was undone.
func (r Run) Do(ctx context.Context) (event.Summary, error) {
	r = r.withDefaults()
	if err := r.checkParentNotInStream(); err != nil {
		return event.Summary{}, err
	}
	if r.Applier.DryRun {
		return r.apply(ctx)
	}
	r.draft = r.beginDraft()
	defer func() { _, _ = r.draft() }() // it reads the plan and the stream
	lock, err := r.openAhead(ctx)
	if err != nil {
		return event.Summary{}, err // before the lock, which is a write too
	}
	held, release, err := r.acquireInRecordsNamespace(ctx, lock)
	if err != nil {
		return timeoutSummary(err), err
	}
	defer release()
	tried, err := r.attempt(held)
	if tried.failure != nil {
		err = errors.Join(r.undo(held, tried), err)
		r.reportWayBack(tried, err)
	}
	if undone, ok := errors.AsType[*UndoneError](err); ok && errors.Is(undone.Err, lease.ErrLost) {
		return tried.summary, err // it says so
	}
	return tried.summary, lease.OrLost(held, err)
}

// reportWayBack reports the rollback for a failed run that was not undone.
func (r Run) reportWayBack(tried attempt, err error) {
	_, undone := errors.AsType[*UndoneError](err)
	if undone || !tried.began || r.Metadata.Revision.Rollback > 0 {
		return
	}
	if before := history.LastDeployed(tried.record.entries()); before != nil && before.Number != tried.revision {
		r.OnNotUndone(before.Number, fmt.Sprintf("ordapply rollback %s --to-revision %d", commandArgument(r.Parent), before.Number))
	}
}
