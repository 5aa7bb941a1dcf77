package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// UndoneError is the failure of a run that was undone under the same lock: by
// a rollback to the revision that was deployed before it, or, if there was
// none, by deleting what the run created. It unwraps to the failure, followed
// by the outcome of undoing it.
type UndoneError struct {
	Failure error     // why the run was undone
	Parent  object.ID // of the set
	// Stacks are the atomic stacks that were undone, and nothing else; nil:
	// all changes of the run were undone.
	Stacks []string
	// Revision is the target of the rollback; 0: none was deployed before.
	Revision int
	Summary  apply.Summary // of undoing
	// Left are the resources that the failed run changed and that were not
	// changed back: they existed before the run and are not in the revision.
	Left []object.ID
	Err  error // of undoing; nil: all of the revision is ready
}

// Error returns the failure, followed by the outcome of undoing it.
func (e *UndoneError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the same as two errors.
func (e *UndoneError) Unwrap() []error { return []error{e.Failure, e.Outcome()} }

// Outcome describes how undoing the run ended, and why.
func (e *UndoneError) Outcome() error {
	if len(e.Stacks) > 0 {
		return e.stacksOutcome()
	}
	goOn := "resume it with: ordapply rollback " + commandArgument(e.Parent)
	switch {
	case e.Err == nil:
		return errors.New(e.undoResult() + e.leftText())
	case errors.Is(e.Err, errDeployedLast):
		return fmt.Errorf("--rollback-on-failure: %w", e.Err)
	case errors.Is(e.Err, ErrLockLost):
		return fmt.Errorf("%s did not complete: %w", e.undoAction(), e.Err)
	case errors.Is(e.Err, apply.ErrInterrupted) && e.Revision > 0:
		return fmt.Errorf("%s was interrupted; %s", e.undoAction(), goOn)
	case e.Revision > 0:
		return errors.Join(fmt.Errorf("%s also failed, as follows; fix the cause, then %s", e.undoAction(), goOn), e.Err)
	}
	return errors.Join(fmt.Errorf("%s also failed, as follows", e.undoAction()), e.Err)
}

// undoAction names the way in which the run is undone.
func (e *UndoneError) undoAction() string {
	if e.Revision > 0 {
		return fmt.Sprintf("the rollback to revision %d", e.Revision)
	}
	return "deleting what the failed run created"
}

// undoResult describes what was done.
func (e *UndoneError) undoResult() string {
	if e.Revision > 0 {
		return fmt.Sprintf("rolled back to revision %d", e.Revision)
	}
	if len(e.Summary.Results) == 0 {
		return "--rollback-on-failure: no revision was deployed before, and the run created nothing"
	}
	return "no revision was deployed before: everything that the run created was deleted"
}

// leftText lists the resources that were not changed back.
func (e *UndoneError) leftText() string {
	if len(e.Left) == 0 {
		return ""
	}
	names := mapSlice(e.Left, object.ID.String)
	if len(names) > 5 {
		names = append(names[:5:5], fmt.Sprintf("%d more", len(names)-5))
	}
	return "; not rolled back, because they may have existed before the run: " + strings.Join(names, ", ")
}

// commandArgument names a set as an argument of a command.
func commandArgument(parent object.ID) string {
	name := parent.Name
	if parent.Group != "" || parent.Kind != "Secret" {
		name = strings.ToLower(parent.GroupKind()) + "/" + name
	}
	if parent.Namespace != "" {
		name += " -n " + parent.Namespace
	}
	return name
}

// errDeployedLast reports that there is no revision to go back to.
var errDeployedLast = errors.New("nothing to roll back to: the revision that failed is the one deployed last")

// undo undoes a failed run, or its atomic stacks. A run that was
// interrupted, or that ended before it might write, is not undone; one that
// found everything unchanged and timed out waiting is.
func (r Run) undo(ctx context.Context, tried attempt) error {
	if limit := r.Applier.Timeout; limit > 0 && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		var cancel context.CancelFunc // the rollback has a timeout of its own
		ctx, cancel = apply.PastDeadline(ctx, limit)
		defer cancel()
	}
	if r.Undo == nil && len(r.Atomic) == 0 || !tried.began || ctx.Err() != nil || errors.Is(tried.failure, apply.ErrInterrupted) {
		return tried.failure
	}
	if r.Undo == nil {
		return r.undoStacks(ctx, tried)
	}
	out := &UndoneError{Failure: tried.failure, Parent: r.Parent}
	before, err := r.deployedBeforeRun(ctx, tried.revision)
	switch {
	case err != nil:
		out.Err = err
	case before == nil:
		out.Summary, out.Err = r.uninstalled(ctx, tried)
		out.Left = tried.left(nil)
	default:
		out.Revision, out.Left = before.Number, tried.left(before)
		out.Summary, out.Err = r.rollBackTo(ctx, before, tried)
	}
	if r.Prune && before != nil {
		out.Left = tried.notCreatedIDs(before) // the other members that are not in the revision were pruned
	}
	out.Err = errors.Join(orLost(ctx, out.Err), r.unlabelAdopted(ctx, tried, before))
	return out
}

// rollBackTo applies a revision and then deletes what the failed run created.
func (r Run) rollBackTo(ctx context.Context, before *Revision, tried attempt) (apply.Summary, error) {
	back, err := r.Undo(ctx, before)
	if err != nil {
		return apply.Summary{}, err
	}
	back.Namespace = r.Namespace // its lock is held
	back.created, back.keptMembers = tried.created(before), tried.notCreatedIDs(before)
	return back.withDefaults().apply(ctx)
}

// unlabelAdopted removes the set's label from what the failed run adopted. Otherwise a
// later prune, or the deletion of the set, would delete it.
func (r Run) unlabelAdopted(ctx context.Context, tried attempt, before *Revision) error {
	if ctx.Err() != nil {
		return nil // the lock was lost, or the run interrupted
	}
	var errs []error
	for _, result := range tried.notCreated(before) {
		if !result.Adopted {
			continue // it may have been a member, or may have been created
		}
		if err := tried.set.unlabel(ctx, result.ID); err != nil {
			errs = append(errs, fmt.Errorf("release %s, which the failed run adopted: %w", result.ID, err))
		}
	}
	return errors.Join(errs...)
}

// deployedBeforeRun returns the revision that was deployed when the run of a
// revision began; nil when there was none.
func (r Run) deployedBeforeRun(ctx context.Context, failed int) (*Revision, error) {
	history := r.history()
	entries, err := history.List(ctx)
	if err != nil {
		return nil, err
	}
	last := lastDeployed(entries)
	if last == nil {
		return nil, nil
	}
	for _, e := range entries {
		if e.Number == failed && (e.Number == last.Number || e.digest == last.digest) {
			return nil, errDeployedLast
		}
	}
	return history.read(ctx, *last)
}

// lastDeployed returns the newest revision that is deployed; nil when none
// is.
func lastDeployed(entries []Entry) *Entry {
	for i := range slices.Backward(entries) {
		if entries[i].Status == Deployed {
			return &entries[i]
		}
	}
	return nil
}

// UndoTarget returns the revision that a run that fails would be rolled back
// to; nil when none is deployed, or the set does not exist.
func (r Run) UndoTarget(ctx context.Context) (*Revision, error) {
	return r.withDefaults().deployedBeforeRun(ctx, 0)
}

// attempt is the execution of a run under the lock.
type attempt struct {
	set      *Set
	revision int // number of its own revision
	began    bool
	summary  apply.Summary
	failure  error // of applying and pruning
}

// created returns the resources that the run created, or may have created by
// a PATCH without an answer, and that are not in a revision.
func (a attempt) created(before *Revision) []apply.Result {
	held := before.resourceIDs()
	return slices.DeleteFunc(slices.Clone(a.summary.Results), func(result apply.Result) bool {
		unanswered := result.Absent && !result.Sent.IsZero() && result.Applied.IsZero()
		return held[result.ID] || result.Created == "" && !unanswered
	})
}

// left returns the resources that the run changed without creating them, and
// that are not in a revision.
func (a attempt) left(before *Revision) []object.ID {
	held := before.resourceIDs()
	var out []object.ID
	for _, result := range a.summary.Results {
		changed := !result.Applied.IsZero() && !result.Unchanged && result.State != apply.Deleted
		if changed && result.Created == "" && !held[result.ID] {
			out = append(out, result.ID)
		}
	}
	return out
}

// notCreated returns the resources that the run wrote, that are not in a
// revision, and that may have existed before without being members of the
// set.
func (a attempt) notCreated(before *Revision) []apply.Result {
	held := before.resourceIDs()
	var out []apply.Result
	for _, result := range a.summary.Results {
		written := !result.Sent.IsZero() && result.State != apply.Deleted
		if written && !result.Absent && !result.Member && result.Created == "" && !held[result.ID] {
			out = append(out, result)
		}
	}
	return out
}

// notCreatedIDs returns the IDs of notCreated.
func (a attempt) notCreatedIDs(before *Revision) []object.ID {
	return mapSlice(a.notCreated(before), func(result apply.Result) object.ID { return result.ID })
}

// resourceIDs returns the IDs of a revision's resources; none for nil.
func (r *Revision) resourceIDs() map[object.ID]bool {
	held := map[object.ID]bool{}
	if r != nil {
		for _, resource := range r.Resources {
			held[resource.ID] = true
		}
	}
	return held
}

// removeCreated deletes what a failed run created, in reverse order. Objects
// that are no longer members of the set, or that replaced another under its
// name, are kept.
func (r Run) removeCreated(ctx context.Context, set *Set, created []apply.Result) (apply.Summary, error) {
	if len(created) == 0 {
		return apply.Summary{}, nil
	}
	found, err := apply.Find(ctx, r.Cluster, mapSlice(created, func(result apply.Result) ordering.Resource {
		return ordering.Resource{Meta: object.Meta{ID: result.ID}}
	}))
	if err != nil {
		return apply.Summary{}, fmt.Errorf("find the objects that the failed run created: %w", err)
	}
	gone := map[object.ID]*unstructured.Unstructured{}
	for _, result := range created {
		live := found[result.ID]
		switch {
		case live == nil || !set.isMember(live):
		case result.Created != "" && live.GetUID() == result.Created,
			result.Created == "" && apply.WasCreatedBy(live, r.Applier.Manager):
			gone[result.ID] = live
		}
	}
	return memberDeletion{
		set: set, history: r.history(), remover: r.Remover, keepReason: r.essentialNamespaceReason,
		applyPlan: r.removeAfter, onPlanned: func(order *ordering.Deletion) { r.OnRemoving(order.Plan()) },
	}.run(ctx, gone)
}
