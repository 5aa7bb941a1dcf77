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
	Cluster Cluster                 // required
	Applier apply.Applier           // its Manager is the base of the set's own; Run sets its Membership
	Plan    *ordering.Plan          // required
	Stream  *apply.Stream           // required: what Plan was made of
	Parent  object.ID               // required: the parent object of the set; it need not exist
	Kind    schema.GroupVersionKind // of the parent
	// Namespace is where the Lease and the history are; default the parent's.
	Namespace string
	// Prune deletes, with Remover, the members that the stream no longer
	// contains, once all of the stream is ready.
	Prune   bool
	Remover apply.Remover // also deletes what a failed run created, see Undo
	// OnPruning is called before anything is pruned, with the plan followed by
	// the waves of the prune; optional.
	OnPruning func(*ordering.Plan)
	// TakeOver takes over a set of another tool, and members of other sets.
	TakeOver bool
	// LockTimeout bounds the wait for another run to end; default 0.
	LockTimeout time.Duration
	// OnWaiting is called once when another run is waited for; optional.
	OnWaiting func(*HeldError)
	// OnNote is called with remarks on the set for people; optional.
	OnNote func(string)
	// Metadata is what the history records of the run, in addition to its plan
	// and stream.
	Metadata RevisionMetadata
	// Check is called under the lock and before the first write, with a
	// preview of Do and the resources that Do has just applied because the
	// set's records are in them. Its error ends the run; optional.
	Check func(ctx context.Context, preview *apply.Preview, made []object.ID) error
	// Undo returns the run that goes back to a revision of the set. It is
	// called under the lock when this run failed; the error of Do is then an
	// *UndoneError. If no revision was deployed before, Undo is not called,
	// and the objects that this run created are deleted. Default: the set is
	// left as it is after the failure.
	Undo func(context.Context, *Revision) (Run, error)
	// Atomic are the stacks whose changes are undone when the run fails
	// before they are ready as a whole; the error is then an *UndoneError.
	// Undo covers them too.
	Atomic []AtomicStack
	// OnRestoring is called before atomic stacks are restored to a revision,
	// with the plan for that; optional.
	OnRestoring func(revision int, plan *ordering.Plan)
	// OnRemoving is called before the objects that a failed first run created
	// are deleted, with the plan for that; optional.
	OnRemoving func(*ordering.Plan)

	// created are deleted when all of the stream is ready: the run that this
	// one undoes created them.
	created []apply.Result
	// keptMembers are not pruned: the run that this one undoes made them members,
	// and they may have existed before.
	keptMembers []object.ID
	// removeAfter is the plan that ends with the deletion of created; nil:
	// none.
	removeAfter *ordering.Plan
}

// Do applies the stream, or does a dry run of it if Applier.DryRun is set. Before
// the first write to a member it adds all kinds and namespaces of the stream to
// the set's parent, so that every member can be found whenever the run ends. Its
// error joins those of Applier.Run and of the prune; a *HeldError when another run
// holds the lock, a *LockLostError when it was lost, and an *UndoneError for a run
// that was undone.
func (r Run) Do(ctx context.Context) (apply.Summary, error) {
	r = r.withDefaults()
	if err := r.checkParentNotInStream(); err != nil {
		return apply.Summary{}, err
	}
	if r.Applier.DryRun {
		return r.apply(ctx)
	}
	if _, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver); err != nil {
		return apply.Summary{}, err // before the lock, which is a write too
	}
	held, release, err := r.acquireInRecordsNamespace(ctx)
	if err != nil {
		return timeoutSummary(err), err
	}
	defer release()
	tried, err := r.attempt(held)
	if tried.failure != nil {
		err = errors.Join(r.undo(held, tried), err)
	}
	return tried.summary, orLost(held, err)
}

// checkParentNotInStream rejects a stream that contains the set's parent.
func (r Run) checkParentNotInStream() error {
	for _, hook := range r.Stream.Hooks {
		if hook.ID == r.Parent {
			return fmt.Errorf("%s is the parent of the apply set and cannot be a hook of it: give the set another name", r.Parent)
		}
	}
	if _, itself := r.Stream.Objects[r.Parent]; itself {
		return fmt.Errorf("%s is the parent of the apply set and cannot be a member of it: give the set another name", r.Parent)
	}
	return nil
}

// withDefaults fills in the fields that follow from the set.
func (r Run) withDefaults() Run {
	set := applyset.Parent{ID: r.Parent}
	base := r.Applier.Manager
	if base == "" {
		base = "ordapply"
	}
	r.Applier.Manager = set.Manager(base)
	r.Applier.Membership.Set = set.SetID()
	r.Applier.Membership.PreviousManagers = append(r.Applier.Membership.PreviousManagers, base)
	if r.TakeOver {
		r.Applier.Membership.Adopt = apply.AdoptAny
		r.Applier.Membership.PreviousManagers = append(r.Applier.Membership.PreviousManagers, "kubectl")
	}
	if r.OnPruning == nil {
		r.OnPruning = func(*ordering.Plan) {}
	}
	if r.OnRestoring == nil {
		r.OnRestoring = func(int, *ordering.Plan) {}
	}
	if r.OnRemoving == nil {
		r.OnRemoving = func(*ordering.Plan) {}
	}
	if r.Namespace == "" {
		r.Namespace = r.Parent.Namespace
	}
	return r
}

// apply does the part that requires the lock, or a dry run without it.
func (r Run) apply(ctx context.Context) (apply.Summary, error) {
	if !r.Applier.DryRun {
		tried, err := r.attempt(ctx)
		return tried.summary, errors.Join(tried.failure, err)
	}
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil {
		return apply.Summary{}, err
	}
	if err := r.recoverSet(ctx, set); err != nil {
		return apply.Summary{}, err
	}
	if err := r.assumeMigrated(ctx, set); err != nil {
		return apply.Summary{}, err
	}
	return r.dryRun(ctx, set)
}

// attempt applies the stream and prunes. The returned error is about the
// steps around these: the set could not be read, or the outcome not be
// recorded.
func (r Run) attempt(ctx context.Context) (attempt, error) {
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil {
		return attempt{}, err
	}
	if err := r.recoverSet(ctx, set); err != nil {
		return attempt{}, err
	}
	if remark := set.RecoveryNote(); remark != "" && r.OnNote != nil {
		r.OnNote(remark)
	}
	tried := attempt{set: set}
	memory, checked := r.record(set), r.check
	var before []Entry // the history before the run, read only when there are hooks
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
		if err := set.migrateMembers(ctx, r.Applier.Manager); err != nil {
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
		deleted, tried.failure = r.deleteObsolete(ctx, set)
		tried.summary = tried.summary.Append(deleted)
	}
	if tried.failure == nil {
		tried.failure = around.Post(ctx)
	}
	tried.summary = around.WithHookResults(tried.summary)
	tried.revision = memory.number
	return tried, memory.end(ctx, tried.failure)
}

// deleteObsolete deletes what is to be deleted when all of the stream is ready.
func (r Run) deleteObsolete(ctx context.Context, set *Set) (apply.Summary, error) {
	if r.Prune {
		return r.prune(ctx, set)
	}
	r.OnRemoving, r.removeAfter = r.OnPruning, r.Plan
	return r.removeCreated(ctx, set, r.created)
}

// recoverSet recovers the set when its parent was deleted or edited by hand. A
// dry run may lack the permission to read the history.
func (r Run) recoverSet(ctx context.Context, set *Set) error {
	err := set.Recover(ctx, r.history())
	if r.Applier.DryRun && apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func (r Run) history() History {
	return History{Cluster: r.Cluster, Parent: applyset.Parent{ID: r.Parent}, Namespace: r.Namespace}
}

// check calls Applier.Begin and Check, which may stop the run.
func (r Run) check(ctx context.Context) error {
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
