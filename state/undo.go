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

// UndoneError is the failure of a run that was undone under the same lock: by a
// rollback to the revision that was deployed before it, or, where none was, by
// deleting what the run created. It unwraps to the failure, then to how undoing it
// ended.
type UndoneError struct {
	Failure error
	Parent  object.ID // of the set
	// Stacks are the atomic stacks that were undone, and nothing else; nil: all that
	// the run changed was.
	Stacks []string
	// Revision was gone back to; 0: none was deployed before.
	Revision int
	Summary  apply.Summary // of undoing
	// Left are the resources that the failed run changed and that undoing it did
	// not change back: the revision does not hold them, and they were there before.
	Left []object.ID
	Err  error // of undoing; nil: all of the revision is ready
}

func (e *UndoneError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap gives what failed first, then how undoing it ended.
func (e *UndoneError) Unwrap() []error { return []error{e.Failure, e.Outcome()} }

// Outcome is how undoing the run ended, in words, and why.
func (e *UndoneError) Outcome() error {
	if len(e.Stacks) > 0 {
		return e.stacksOutcome()
	}
	goOn := "go on with it: ordapply rollback " + argument(e.Parent)
	switch {
	case e.Err == nil:
		return errors.New(e.ended() + e.leftWords())
	case errors.Is(e.Err, errDeployedLast):
		return fmt.Errorf("--rollback-on-failure: %w", e.Err)
	case errors.Is(e.Err, ErrLockLost):
		return fmt.Errorf("%s did not end: %w", e.what(), e.Err)
	case errors.Is(e.Err, apply.ErrInterrupted) && e.Revision > 0:
		return fmt.Errorf("%s was interrupted; %s", e.what(), goOn)
	case e.Revision > 0:
		return errors.Join(fmt.Errorf("%s failed, too, as follows; when that is mended %s", e.what(), goOn), e.Err)
	}
	return errors.Join(fmt.Errorf("%s failed, too, as follows", e.what()), e.Err)
}

// what names how the run is undone.
func (e *UndoneError) what() string {
	if e.Revision > 0 {
		return fmt.Sprintf("the rollback to revision %d", e.Revision)
	}
	return "deleting what the failed run created"
}

// ended says what was done.
func (e *UndoneError) ended() string {
	if e.Revision > 0 {
		return fmt.Sprintf("rolled back to revision %d", e.Revision)
	}
	if len(e.Summary.Results) == 0 {
		return "--rollback-on-failure: no revision was deployed before, and the run created nothing"
	}
	return "no revision was deployed before: what the run created is deleted"
}

// leftWords lists what stays as the failed run left it.
func (e *UndoneError) leftWords() string {
	if len(e.Left) == 0 {
		return ""
	}
	names := converted(e.Left, object.ID.String)
	if len(names) > 5 {
		names = append(names[:5:5], fmt.Sprintf("%d more", len(names)-5))
	}
	return "; not changed back, because they may have been there before the run: " + strings.Join(names, ", ")
}

// argument names a set to a verb.
func argument(parent object.ID) string {
	name := parent.Name
	if parent.Group != "" || parent.Kind != "Secret" {
		name = strings.ToLower(parent.GroupKind()) + "/" + name
	}
	if parent.Namespace != "" {
		name += " -n " + parent.Namespace
	}
	return name
}

// errDeployedLast says why there is nothing to go back to.
var errDeployedLast = errors.New("there is nothing to go back to: what failed is what was deployed last")

// undone undoes a run that failed, or its atomic stacks. One that was interrupted, or
// that ended before it might write, is left as it is; one that found everything
// unchanged and waited in vain is not.
func (r Run) undone(ctx context.Context, tried attempt) error {
	if limit := r.Applier.Timeout; limit > 0 && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		var cancel context.CancelFunc // the rollback has a timeout of its own
		ctx, cancel = apply.PastDeadline(ctx, limit)
		defer cancel()
	}
	if r.Undo == nil && len(r.Atomic) == 0 || !tried.began || ctx.Err() != nil || errors.Is(tried.failure, apply.ErrInterrupted) {
		return tried.failure
	}
	if r.Undo == nil {
		return r.undoneStacks(ctx, tried)
	}
	out := &UndoneError{Failure: tried.failure, Parent: r.Parent}
	before, err := r.beforeFailure(ctx, tried.revision)
	switch {
	case err != nil:
		out.Err = err
	case before == nil:
		out.Summary, out.Err = r.uninstalled(ctx, tried)
		out.Left = tried.left(nil)
	default:
		out.Revision, out.Left = before.Number, tried.left(before)
		out.Summary, out.Err = r.backTo(ctx, before, tried)
	}
	if r.Prune && before != nil {
		out.Left = tried.spared(before) // the other members that the revision does not hold were deleted
	}
	out.Err = errors.Join(orLost(ctx, out.Err), r.letGo(ctx, tried, before))
	return out
}

// backTo applies a revision again and then deletes what the failed run created.
func (r Run) backTo(ctx context.Context, before *Revision, tried attempt) (apply.Summary, error) {
	back, err := r.Undo(ctx, before)
	if err != nil {
		return apply.Summary{}, err
	}
	back.Namespace = r.Namespace // whose lock is held
	back.created, back.spared = tried.created(before), tried.spared(before)
	return back.prepared().apply(ctx)
}

// letGo makes what the failed run adopted no member again. A later prune, or the
// deletion of the set, would delete it.
func (r Run) letGo(ctx context.Context, tried attempt, before *Revision) error {
	if ctx.Err() != nil {
		return nil // the lock was lost, or the run interrupted
	}
	var errs []error
	for _, result := range tried.notCreated(before) {
		if !result.Adopted {
			continue // it may have been a member, or may have been created
		}
		if err := tried.set.unlabel(ctx, result.ID); err != nil {
			errs = append(errs, fmt.Errorf("let go of %s, which the failed run adopted: %w", result.ID, err))
		}
	}
	return errors.Join(errs...)
}

// beforeFailure is what was deployed when the run of a revision began; nil when
// nothing was.
func (r Run) beforeFailure(ctx context.Context, failed int) (*Revision, error) {
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

// lastDeployed is the newest revision that is deployed; nil when none is.
func lastDeployed(entries []Entry) *Entry {
	for i := range slices.Backward(entries) {
		if entries[i].Status == Deployed {
			return &entries[i]
		}
	}
	return nil
}

// UndoTarget is the revision that a failed run would be rolled back to if it began
// now; nil when none is deployed, or the set is not there.
func (r Run) UndoTarget(ctx context.Context) (*Revision, error) {
	return r.prepared().beforeFailure(ctx, 0)
}

// attempt is a run that was carried out under the lock.
type attempt struct {
	set      *Set
	revision int // number of its own
	began    bool
	summary  apply.Summary
	failure  error // of applying and pruning
}

// created are the resources that the run created, or may have created by a PATCH
// that was not answered, and that a revision does not hold.
func (a attempt) created(before *Revision) []apply.Result {
	held := before.holds()
	return slices.DeleteFunc(slices.Clone(a.summary.Results), func(result apply.Result) bool {
		unanswered := result.Absent && !result.Sent.IsZero() && result.Applied.IsZero()
		return held[result.ID] || result.Created == "" && !unanswered
	})
}

// left are the resources that the run changed without creating them, and that a
// revision does not hold.
func (a attempt) left(before *Revision) []object.ID {
	held := before.holds()
	var out []object.ID
	for _, result := range a.summary.Results {
		changed := !result.Applied.IsZero() && !result.Unchanged && result.State != apply.Deleted
		if changed && result.Created == "" && !held[result.ID] {
			out = append(out, result.ID)
		}
	}
	return out
}

// notCreated are the resources that the run wrote and that may have been there before
// without being members of the set, as far as a revision does not hold them.
func (a attempt) notCreated(before *Revision) []apply.Result {
	held := before.holds()
	var out []apply.Result
	for _, result := range a.summary.Results {
		written := !result.Sent.IsZero() && result.State != apply.Deleted
		if written && !result.Absent && !result.Member && result.Created == "" && !held[result.ID] {
			out = append(out, result)
		}
	}
	return out
}

// spared are their IDs.
func (a attempt) spared(before *Revision) []object.ID {
	return converted(a.notCreated(before), func(result apply.Result) object.ID { return result.ID })
}

// holds are the IDs of a revision's resources; of none without one.
func (r *Revision) holds() map[object.ID]bool {
	held := map[object.ID]bool{}
	if r != nil {
		for _, resource := range r.Resources {
			held[resource.ID] = true
		}
	}
	return held
}

// removeCreated deletes what a failed run created, in reverse order. What is not a
// member of the set any longer, or is another object of the same name, stays.
func (r Run) removeCreated(ctx context.Context, set *Set, created []apply.Result) (apply.Summary, error) {
	if len(created) == 0 {
		return apply.Summary{}, nil
	}
	found, err := apply.Find(ctx, r.Cluster, converted(created, func(result apply.Result) ordering.Resource {
		return ordering.Resource{Meta: object.Meta{ID: result.ID}}
	}))
	if err != nil {
		return apply.Summary{}, fmt.Errorf("find what the failed run created: %w", err)
	}
	gone := map[object.ID]*unstructured.Unstructured{}
	for _, result := range created {
		live := found[result.ID]
		switch {
		case live == nil || !set.claims(live):
		case result.Created != "" && live.GetUID() == result.Created,
			result.Created == "" && apply.WrittenFirstBy(live, r.Applier.Manager):
			gone[result.ID] = live
		}
	}
	return removal{
		set: set, history: r.history(), remover: r.Remover, keep: r.essential,
		ends: r.removeAfter, planned: func(order *ordering.Deletion) { r.Removing(order.Plan()) },
	}.run(ctx, gone)
}
