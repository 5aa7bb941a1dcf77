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

// --timeout bounds all that a command does, whatever it waits for: it is a deadline
// of the context that everything gets, from when the command line is read. One that
// is in the config file counts from when that is read.

// deadlineError is the cause of a context whose --timeout is over.
type deadlineError struct {
	after time.Duration
	doing func() string // what was being waited for
}

func (e *deadlineError) Error() string {
	text := fmt.Sprintf("timed out after %s (--timeout)", e.after)
	if doing := e.doing(); doing != "" {
		text += " while " + doing
	}
	return text
}

// Is makes it what a deadline is to callers.
func (e *deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout and Temporary make it a net.Error, as context.DeadlineExceeded is one.
func (e *deadlineError) Timeout() bool { return true }

func (e *deadlineError) Temporary() bool { return true }

// timeLimit is a command's --timeout as far as it is known: before the config file is
// read, that of the command line or the environment. 0 is none.
func timeLimit(cmd *cobra.Command) time.Duration {
	flag := cmd.Flags().Lookup("timeout")
	if flag == nil {
		return 0
	}
	text := flag.Value.String()
	if set := os.Getenv(envName(flag.Name)); set != "" && !flag.Changed {
		text = set
	}
	limit, _ := time.ParseDuration(text) // settle refuses what is none
	return limit
}

// limitTime gives a command's context the deadline of a --timeout, if it has one, and
// notes what is waited for with it.
func limitTime(cmd *cobra.Command, limit time.Duration) {
	ctx := cmd.Context()
	over := new(deadlineError)
	if limit > 0 {
		over.after = limit
		limited, cancel := apply.WithTimeout(ctx, limit, over)
		context.AfterFunc(ctx, cancel) // with the command
		ctx = limited
	}
	ctx, log := activity.Record(ctx)
	over.doing = log.Now
	cmd.SetContext(noticeSlow(ctx, log, cmd.ErrOrStderr()))
}

// orTimedOut is the error of a command: that its --timeout was over, where what it
// waited for then was given up for nothing but that. A run says itself what it left
// undone.
func orTimedOut(ctx context.Context, err error) error {
	over, late := errors.AsType[*deadlineError](context.Cause(ctx))
	var undone *state.UndoneError
	if !late || errors.As(err, &undone) {
		return err
	}
	var kept []error
	given := false
	for _, fault := range events.Faults(err) {
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

// isCutShort recognises the error of what the end of a context has ended.
func isCutShort(fault error) bool {
	var run *apply.RunTimeoutError
	var one *apply.Error
	return !errors.As(fault, &run) && !errors.As(fault, &one) &&
		(errors.Is(fault, context.DeadlineExceeded) || errors.Is(fault, context.Canceled))
}
