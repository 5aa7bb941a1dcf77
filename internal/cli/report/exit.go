package report

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// Exit codes.
const (
	ExitDone        = 0
	ExitDifferent   = 1 // of diff; its errors have other codes
	ExitFailed      = 1
	ExitDiffFailed  = 2
	ExitUsage       = 2
	ExitTimedOut    = 3   // nothing failed
	ExitInterrupted = 130 // as of a shell, for SIGINT
)

// ExitCode returns the exit code for a run's error. A rollback after it matters only where it
// failed and the run did not: waiting longer would not help.
func ExitCode(err error) int {
	var misuse *usage.Error
	var timeout *TimeoutError
	var undone *state.UndoneError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, event.ErrInterrupted) && !errors.As(err, &undone):
		return ExitInterrupted
	case errors.As(err, &misuse):
		return ExitUsage
	case errors.As(err, &timeout) && (!errors.As(err, &undone) || !undone.Failed()):
		return ExitTimedOut
	}
	return ExitFailed
}

// TimeoutError reports a run in which nothing failed but something did not
// become ready in time.
type TimeoutError struct{ err error }

// Error returns the text of the cause.
func (e *TimeoutError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *TimeoutError) Unwrap() error { return e.err }

// AsTimeout makes a TimeoutError of an error, with the same text.
func AsTimeout(err error) error { return &TimeoutError{err} }

// WithTimeout wraps the error of a run in a TimeoutError if nothing failed but something
// did not become ready in time.
func WithTimeout(s event.Summary, err error) error {
	if err != nil && s.TimedOutOnly() {
		return &TimeoutError{err}
	}
	return err
}

// orTimedOut replaces errors of requests that the deadline canceled by the deadline itself.
// Errors of a run are kept, since they name the work left undone.
func orTimedOut(ctx context.Context, err error) error {
	over, late := errors.AsType[*abortable.DeadlineError](context.Cause(ctx))
	var undone *state.UndoneError
	if !late || errors.As(err, &undone) {
		return err
	}
	var kept []error
	given := false
	for _, fault := range ordering.FlattenErrors(err) {
		if isCutShort(fault) {
			given = true
			continue
		}
		kept = append(kept, fault)
	}
	switch {
	case !given:
		return err
	case len(kept) == 0:
		return &TimeoutError{over}
	}
	return errors.Join(append(kept, over)...)
}

// isCutShort reports whether the end of a context caused the error.
func isCutShort(fault error) bool {
	var run *event.RunTimeoutError
	var one *event.Error
	return !errors.As(fault, &run) && !errors.As(fault, &one) &&
		(errors.Is(fault, context.DeadlineExceeded) || errors.Is(fault, context.Canceled))
}

// WithInterrupt replaces errors of canceled requests by the interrupt that caused them.
func WithInterrupt(ctx context.Context, err error) error {
	var undone *state.UndoneError
	if err = orTimedOut(ctx, err); ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.Is(err, event.ErrInterrupted) || errors.As(err, &undone) {
		return err
	}
	kept := []error{abortable.Cause(ctx)}
	for _, fault := range ordering.FlattenErrors(err) {
		if !errors.Is(fault, context.Canceled) {
			kept = append(kept, fault)
		}
	}
	return errors.Join(kept...)
}

// Outcome summarizes a run, or the error that prevented it.
func Outcome(s event.Summary, warnings []string, err error) events.Outcome {
	o := events.Outcome{Summary: s, Warnings: warnings, Err: err, ExitCode: ExitCode(err)}
	o.State = runState(o.ExitCode)
	var undone *state.UndoneError
	if !errors.As(err, &undone) {
		return o
	}
	o.Err = undone.Failure
	o.Rollback = &events.Rollback{Revision: undone.Revision, Summary: undone.Summary}
	if undone.Err != nil {
		o.Rollback.Err = undone.Outcome()
	}
	o.Rollback.State = runState(ExitCode(WithTimeout(undone.Summary, undone.Err)))
	return o
}

// runState returns the state of a run for its exit code.
func runState(code int) string {
	switch code {
	case ExitDone:
		return "done"
	case ExitTimedOut:
		return "timedOut"
	case ExitInterrupted:
		return "interrupted"
	}
	return "failed"
}
