package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/state"
)

// --timeout limits everything that a command does: it is the deadline of the
// context that is passed everywhere, measured from the parsing of the command
// line. A value in the config file is measured from reading that file.

// deadlineError is the cause of a context whose --timeout has expired.
type deadlineError struct {
	after time.Duration
	doing func() string // what the command was waiting for
}

func (e *deadlineError) Error() string {
	text := fmt.Sprintf("timed out after %s (--timeout)", e.after)
	if doing := e.doing(); doing != "" {
		text += " while " + doing
	}
	return text
}

// Is makes it equal to context.DeadlineExceeded.
func (e *deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout and Temporary implement net.Error, as context.DeadlineExceeded does.
func (e *deadlineError) Timeout() bool { return true }

func (e *deadlineError) Temporary() bool { return true }

// timeLimit returns a command's --timeout; 0 means none. Before the config file
// is read, it is that of the command line or the environment.
func timeLimit(cmd *cobra.Command) time.Duration {
	flag := cmd.Flags().Lookup("timeout")
	if flag == nil {
		return 0
	}
	text := flag.Value.String()
	if set := os.Getenv(envName(flag.Name)); set != "" && !flag.Changed {
		text = set
	}
	limit, _ := time.ParseDuration(text) // setUnsetFlags rejects invalid values
	return limit
}

// limitTime adds the deadline of --timeout to a command's context, and starts
// to record what the command waits for.
func limitTime(cmd *cobra.Command, limit time.Duration) {
	ctx := cmd.Context()
	over := new(deadlineError)
	if limit > 0 {
		over.after = limit
		limited, cancel := apply.WithTimeout(ctx, limit, over)
		context.AfterFunc(ctx, cancel) // when the command ends
		ctx = limited
	}
	ctx, log := activity.Record(ctx)
	over.doing = log.Now
	cmd.SetContext(startSlowNotices(ctx, log, cmd.ErrOrStderr()))
}

// orTimedOut replaces errors of requests that the deadline canceled by the
// deadline itself. Errors of a run are kept, since they say what was left
// undone.
func orTimedOut(ctx context.Context, err error) error {
	over, late := errors.AsType[*deadlineError](context.Cause(ctx))
	var undone *state.UndoneError
	if !late || errors.As(err, &undone) {
		return err
	}
	var kept []error
	given := false
	for _, fault := range events.FlattenErrors(err) {
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
		return &timeoutError{over}
	}
	return errors.Join(append(kept, over)...)
}

// isCutShort reports whether the end of a context caused the error.
func isCutShort(fault error) bool {
	var run *apply.RunTimeoutError
	var one *apply.Error
	return !errors.As(fault, &run) && !errors.As(fault, &one) &&
		(errors.Is(fault, context.DeadlineExceeded) || errors.Is(fault, context.Canceled))
}
