package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// UndoneError is the failure of a run that a rollback followed, under the same
// lock. It unwraps to the failure, then to what became of the rollback.
type UndoneError struct {
	Failure error
	Parent  object.ID // of the set
	// Revision was gone back to; 0: there was none.
	Revision int
	Summary  apply.Summary // of going back
	Err      error         // of going back; nil: all of the revision is ready
}

func (e *UndoneError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap tells what failed first, then what the rollback did.
func (e *UndoneError) Unwrap() []error { return []error{e.Failure, e.Outcome()} }

// Outcome is what became of the rollback, in words, and why.
func (e *UndoneError) Outcome() error {
	goOn := "go on with it: ordapply rollback " + argument(e.Parent)
	switch {
	case e.Err == nil:
		return fmt.Errorf("rolled back to revision %d", e.Revision)
	case e.Revision == 0:
		return fmt.Errorf("--rollback-on-failure: %w", e.Err)
	case errors.Is(e.Err, ErrLockLost):
		return fmt.Errorf("the rollback to revision %d did not end: %w", e.Revision, e.Err)
	case errors.Is(e.Err, apply.ErrInterrupted):
		return fmt.Errorf("the rollback to revision %d was interrupted; %s", e.Revision, goOn)
	}
	return errors.Join(fmt.Errorf("the rollback to revision %d failed, too, as follows; when that is mended %s", e.Revision, goOn), e.Err)
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

// undone goes back to what was deployed last, after a run that failed. A run that
// was interrupted, or that sent nothing, leaves nothing to undo.
func (r Run) undone(ctx context.Context, failed apply.Summary, failure error) error {
	sent := slices.ContainsFunc(failed.Results, func(r apply.Result) bool { return !r.Sent.IsZero() })
	if r.Undo == nil || !sent || ctx.Err() != nil || errors.Is(failure, apply.ErrInterrupted) {
		return failure
	}
	out := &UndoneError{Failure: failure, Parent: r.Parent}
	before, err := r.beforeFailure(ctx)
	if err != nil {
		out.Err = err
		return out
	}
	out.Revision = before.Number
	back, err := r.Undo(ctx, before)
	if err == nil {
		back.Namespace = r.Namespace // whose lock is held
		out.Summary, err = back.prepared().apply(ctx)
	}
	if out.Err = err; errors.Is(context.Cause(ctx), ErrLockLost) {
		out.Err = ErrLockLost
	}
	return out
}

// beforeFailure is what was deployed before the newest revision, which failed.
func (r Run) beforeFailure(ctx context.Context) (*Revision, error) {
	history := r.history()
	entries, err := history.List(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(entries); n > 0 && entries[n-1].Status == Deployed {
		return nil, errors.New("there is nothing to go back to: what failed is what was deployed last")
	}
	before, err := deployedBefore(entries)
	if err != nil {
		return nil, err
	}
	return history.read(ctx, before)
}
