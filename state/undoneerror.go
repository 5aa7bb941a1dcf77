package state

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
)

// UndoneError is the failure of a run that was undone under the same lock: by a
// rollback to the revision deployed before it, or, if there was none, by
// deleting objects that the run created. It unwraps to the failure, followed by
// the outcome of undoing it.
type UndoneError struct {
	Failure error     // why the run was undone
	Parent  object.ID // of the set
	// Stacks are the atomic stacks that were undone, and nothing else; nil:
	// all changes of the run were undone.
	Stacks []string
	// Revision is the target of the rollback; 0: none was deployed before.
	Revision int
	Summary  event.Summary // of undoing
	// Left are the resources that the failed run changed and that were not
	// changed back: they existed before the run and are not in the revision.
	Left []object.ID
	Err  error // of undoing; nil: all of the revision is ready
}

// Error returns the failure, followed by the outcome of undoing it.
func (e *UndoneError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the same as two errors.
func (e *UndoneError) Unwrap() []error { return []error{e.Failure, e.Outcome()} }

// Failed reports whether undoing the run failed, other than by a timeout.
func (e *UndoneError) Failed() bool {
	return e.Err != nil && !errors.Is(e.Err, history.ErrDeployedLast) && !e.Summary.TimedOutOnly()
}

// Outcome describes how undoing the run ended, and why.
func (e *UndoneError) Outcome() error {
	if len(e.Stacks) > 0 {
		return e.stacksOutcome()
	}
	goOn := "resume it with: ordapply rollback " + commandArgument(e.Parent)
	switch {
	case e.Err == nil && len(e.Left) == 0 && (e.Revision > 0 || len(keptOf(e.Summary)) == 0):
		return &UndoneResult{e.undoResult()}
	case e.Err == nil:
		return errors.New(e.undoResult() + e.leftText())
	case errors.Is(e.Err, history.ErrDeployedLast):
		return fmt.Errorf("--rollback-on-failure: %w", e.Err)
	case errors.Is(e.Err, lease.ErrLost):
		return fmt.Errorf("%s did not complete: %w", e.undoAction(), e.Err)
	case errors.Is(e.Err, event.ErrInterrupted) && e.Revision > 0:
		return fmt.Errorf("%s was interrupted; %s", e.undoAction(), goOn)
	case e.Revision > 0:
		return errors.Join(fmt.Errorf("%s also failed, as follows; fix the cause, then %s", e.undoAction(), goOn), e.Err)
	}
	return errors.Join(fmt.Errorf("%s also failed, as follows", e.undoAction()), e.Err)
}

// UndoneResult reports that everything that a failed run did was undone. It is part of an
// UndoneError, after the failure, and is itself no fault.
type UndoneResult struct{ text string }

// Error returns the result, such as "rolled back to revision 4".
func (r *UndoneResult) Error() string { return r.text }

// undoAction names the way in which the run is undone.
func (e *UndoneError) undoAction() string {
	if e.Revision > 0 {
		return fmt.Sprintf("the rollback to revision %d", e.Revision)
	}
	return "deleting what the failed run created"
}

// undoResult describes the result.
func (e *UndoneError) undoResult() string {
	if e.Revision > 0 {
		return fmt.Sprintf("rolled back to revision %d", e.Revision)
	}
	if len(e.Summary.Results) == 0 {
		return "--rollback-on-failure: no revision was deployed before, and the run created nothing"
	}
	if kept := keptOf(e.Summary); len(kept) > 0 {
		return "no revision was deployed before: what the run created was deleted, except " + strings.Join(plain.Sample(kept, 5, "%d more", object.ID.String), ", ")
	}
	return "no revision was deployed before: everything that the run created was deleted"
}

// keptOf returns the objects that a deletion kept.
func keptOf(s event.Summary) []object.ID {
	var out []object.ID
	for _, r := range s.Results {
		if r.State != event.Deleted {
			out = append(out, r.ID)
		}
	}
	return out
}

// leftText lists the resources that were not changed back.
func (e *UndoneError) leftText() string {
	if len(e.Left) == 0 {
		return ""
	}
	return "; not rolled back, because they may have existed before the run: " + strings.Join(plain.Sample(e.Left, 5, "%d more", object.ID.String), ", ")
}

// commandArgument names a set as an argument of a command.
func commandArgument(parent object.ID) string {
	name := applyset.Parent{ID: parent}.Argument()
	if parent.Namespace != "" {
		name += " -n " + parent.Namespace
	}
	return name
}

// stackNames names stacks for use in a sentence.
func stackNames(names []string) string {
	if len(names) == 1 {
		return "stack " + names[0]
	}
	return "stacks " + strings.Join(names, ", ")
}

// stacksOutcome describes how undoing atomic stacks ended, and why.
func (e *UndoneError) stacksOutcome() error {
	names, verb := stackNames(e.Stacks), "is atomic, and was"
	if len(e.Stacks) > 1 {
		verb = "are atomic, and were"
	}
	switch {
	case e.Err == nil && len(e.Left) == 0:
		return &UndoneResult{fmt.Sprintf("%s %s %s", names, verb, e.stacksResult())}
	case e.Err == nil:
		return fmt.Errorf("%s %s %s%s", names, verb, e.stacksResult(), e.leftText())
	case errors.Is(e.Err, history.ErrDeployedLast):
		return fmt.Errorf("%s: %w", names, e.Err)
	case errors.Is(e.Err, lease.ErrLost):
		return fmt.Errorf("the rollback of %s did not complete: %w", names, e.Err)
	case errors.Is(e.Err, event.ErrInterrupted):
		return fmt.Errorf("the rollback of %s was interrupted; apply again", names)
	}
	return errors.Join(fmt.Errorf("the rollback of %s also failed, as follows; fix the cause and apply again", names), e.Err)
}

// stacksResult describes the result of undoing atomic stacks.
func (e *UndoneError) stacksResult() string {
	switch {
	case e.Revision > 0:
		return fmt.Sprintf("rolled back to revision %d", e.Revision)
	case len(e.Summary.Results) == 0:
		return "not deployed before; the run created nothing in it"
	}
	return "not deployed before: everything that the run created in it was deleted"
}
