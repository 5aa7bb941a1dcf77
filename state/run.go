package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Run applies a stream to a set, under the set's lock.
type Run struct {
	Cluster Cluster
	Applier apply.Applier // its Manager is the base of the set's own
	Plan    *ordering.Plan
	Stream  *apply.Stream
	Parent  object.ID
	Kind    schema.GroupVersionKind // of the parent
	// Namespace is where the Lease and the history are; default the parent's.
	Namespace string
	// Prune deletes, with Remover, the members that the stream no longer holds,
	// when all that it holds is ready.
	Prune   bool
	Remover apply.Remover
	// Pruning is told, before anything is pruned, the plan with those waves
	// behind its own; default: discard.
	Pruning func(*ordering.Plan)
	// TakeOver makes a set ours that another tool kept, and members of other
	// sets members of this one.
	TakeOver bool
	// LockTimeout is how long to wait for another run to end; default 0.
	LockTimeout time.Duration
	// Waiting is told, once, that another run is waited for; default: discard.
	Waiting func(*HeldError)
	// Note is told what people should know of the set; default: discard.
	Note func(string)
	// Memory says what the history keeps of the run beside its plan and stream.
	Memory Memory
	// Check is shown, under the lock and before the first write, what Do is about
	// to do, and of which resources Do itself has just made sure, because the set
	// is kept in them. Its error ends the run; default: nothing.
	Check func(ctx context.Context, preview *apply.Preview, made []object.ID) error
	// Undo makes the run that goes back to a revision of the set; it is called
	// under the lock when this one failed, and the error is then an *UndoneError.
	// Where no revision was deployed before, it is not called, and what this run
	// created is deleted. Default: the set stays as the failure left it.
	Undo func(context.Context, *Revision) (Run, error)
	// Atomic are the stacks that are changed back when the run fails before they are
	// ready as a whole; the error is then an *UndoneError. Undo is about them, too.
	Atomic []AtomicStack
	// Restoring is called before atomic stacks are changed back to a revision, with
	// the plan of that; default: nothing.
	Restoring func(revision int, plan *ordering.Plan)
	// Removing is called before what a failed first run created is deleted, with
	// the plan of that; default: nothing.
	Removing func(*ordering.Plan)

	// created are to be deleted when all of the stream is ready: the run that this
	// one undoes created them.
	created []apply.Result
	// spared stay when the set is pruned: the run that this one undoes made them
	// members, and they may have been there before.
	spared []object.ID
	// removeAfter is the plan that their deletion is the end of; nil: none.
	removeAfter *ordering.Plan
}

// Do applies the stream. Before the first write to a member the set promises all
// that it will hold, so that whenever the run ends, nothing of the set is
// unknown to it.
func (r Run) Do(ctx context.Context) (apply.Summary, error) {
	r = r.prepared()
	if err := r.parentApart(); err != nil {
		return apply.Summary{}, err
	}
	if r.Applier.DryRun {
		return r.apply(ctx)
	}
	if _, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver); err != nil {
		return apply.Summary{}, err // before the lock, which is written, too
	}
	held, release, err := r.locked(ctx)
	if err != nil {
		return overtime(err), err
	}
	defer release()
	tried, err := r.attempt(held)
	if tried.failure != nil {
		err = errors.Join(r.undone(held, tried), err)
	}
	return tried.summary, orLost(held, err)
}

// parentApart refuses a stream that holds the set's parent.
func (r Run) parentApart() error {
	if _, itself := r.Stream.Objects[r.Parent]; itself {
		return fmt.Errorf("%s is the parent of the apply set and cannot be a member of it: give the set another name", r.Parent)
	}
	return nil
}

// prepared fills in what follows from the set.
func (r Run) prepared() Run {
	set := applyset.Parent{ID: r.Parent}
	base := r.Applier.Manager
	if base == "" {
		base = "ordapply"
	}
	r.Applier.Manager = set.Manager(base)
	r.Applier.Membership.Set = set.SetID()
	r.Applier.Membership.Predecessors = append(r.Applier.Membership.Predecessors, base)
	if r.TakeOver {
		r.Applier.Membership.Adopt = apply.AdoptAny
		r.Applier.Membership.Predecessors = append(r.Applier.Membership.Predecessors, "kubectl")
	}
	if r.Pruning == nil {
		r.Pruning = func(*ordering.Plan) {}
	}
	if r.Restoring == nil {
		r.Restoring = func(int, *ordering.Plan) {}
	}
	if r.Removing == nil {
		r.Removing = func(*ordering.Plan) {}
	}
	if r.Namespace == "" {
		r.Namespace = r.Parent.Namespace
	}
	return r
}

// apply does what is done under the lock, or without one for a dry run.
func (r Run) apply(ctx context.Context) (apply.Summary, error) {
	if !r.Applier.DryRun {
		tried, err := r.attempt(ctx)
		return tried.summary, errors.Join(tried.failure, err)
	}
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil {
		return apply.Summary{}, err
	}
	if err := r.recovered(ctx, set); err != nil {
		return apply.Summary{}, err
	}
	if err := r.asClaimed(ctx, set); err != nil {
		return apply.Summary{}, err
	}
	return r.rehearse(ctx, set)
}

// attempt applies the stream and prunes. The error is that of what surrounds it:
// the set could not be read, or how the run ended not be recorded.
func (r Run) attempt(ctx context.Context) (attempt, error) {
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil {
		return attempt{}, err
	}
	if err := r.recovered(ctx, set); err != nil {
		return attempt{}, err
	}
	if remark := set.Remark(); remark != "" && r.Note != nil {
		r.Note(remark)
	}
	tried := attempt{set: set}
	memory, checked := r.record(set), r.checked
	var before []Entry // that the set had, where there are hooks to ask for it
	r.Applier.Begin = func(ctx context.Context) error {
		if err := checked(ctx); err != nil {
			return err
		}
		if len(r.Stream.Hooks) > 0 {
			var err error
			if before, err = r.history().List(ctx); err != nil {
				return err
			}
		}
		if err := memory.begin(ctx); err != nil {
			return err
		}
		set.revision = memory.number
		if err := set.claim(ctx, r.Applier.Manager); err != nil {
			return err
		}
		err := set.Widen(ctx, r.members())
		tried.began = err == nil
		return err
	}
	around := r.around(set, &before)
	r.Applier.First = around.Pre
	tried.summary, tried.failure = r.Applier.Run(ctx, r.Plan, r.Stream.Objects)
	if tried.failure == nil {
		var deleted apply.Summary
		deleted, tried.failure = r.clean(ctx, set)
		tried.summary = tried.summary.And(deleted)
	}
	if tried.failure == nil {
		tried.failure = around.Post(ctx)
	}
	tried.summary = around.Summed(tried.summary)
	tried.revision = memory.number
	return tried, memory.end(ctx, tried.failure)
}

// clean deletes what is to go when all of the stream is ready.
func (r Run) clean(ctx context.Context, set *Set) (apply.Summary, error) {
	if r.Prune {
		return r.prune(ctx, set)
	}
	r.Removing, r.removeAfter = r.Pruning, r.Plan
	return r.removeCreated(ctx, set, r.created)
}

// recovered finds out what the set has when its parent was deleted or changed by
// hand. A run that writes nothing may lack the permission to read the history.
func (r Run) recovered(ctx context.Context, set *Set) error {
	err := set.Recover(ctx, r.history())
	if r.Applier.DryRun && apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func (r Run) history() History {
	return History{Cluster: r.Cluster, Parent: applyset.Parent{ID: r.Parent}, Namespace: r.Namespace}
}

// checked asks those who may know that the run must not begin.
func (r Run) checked(ctx context.Context) error {
	if r.Applier.Begin != nil {
		if err := r.Applier.Begin(ctx); err != nil {
			return err
		}
	}
	if r.Check == nil {
		return nil
	}
	preview, err := r.preview(ctx)
	if err != nil {
		return err
	}
	return r.Check(ctx, preview, r.Applier.Sent)
}
