package main

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/state"
)

// meanwhile begins something that may take a while. What it returns waits for the
// end of it, or of the context: what reads standard input, or asks a server that
// never answers, cannot be ended otherwise.
func meanwhile[T any](ctx context.Context, do func() (T, error)) func() (T, error) {
	var result T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = do()
	}()
	return func() (T, error) {
		select {
		case <-done:
			return result, err
		default:
		}
		select {
		case <-done:
			return result, err
		case <-ctx.Done():
			var none T
			return none, ended(ctx)
		}
	}
}

// bounded does something that may take without end, such as reading a file, and waits
// for the end of it or of the context. doing names it, as "reading app.yaml"; the
// context that do gets is for naming its parts.
func bounded[T any](ctx context.Context, doing string, do func(context.Context) (T, error)) (T, error) {
	ctx, done := activity.Start(ctx, doing)
	defer done()
	return meanwhile(ctx, func() (T, error) { return do(ctx) })()
}

// ended is why a context is over, to whoever started the command.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return apply.ErrInterrupted
}

// orInterrupted is the error of a command: that it was interrupted, where what it
// asked the API server then was given up for nothing but that.
func orInterrupted(ctx context.Context, err error) error {
	var undone *state.UndoneError
	if err = orTimedOut(ctx, err); ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.Is(err, apply.ErrInterrupted) || errors.As(err, &undone) {
		return err
	}
	kept := []error{ended(ctx)}
	for _, fault := range events.Faults(err) {
		if !errors.Is(fault, context.Canceled) {
			kept = append(kept, fault)
		}
	}
	return errors.Join(kept...)
}
