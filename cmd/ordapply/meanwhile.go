package main

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/state"
)

// startAsync starts do in a goroutine. The returned function waits for its
// result or for the end of the context, since reading standard input or waiting
// for a server that does not answer cannot be canceled otherwise.
func startAsync[T any](ctx context.Context, do func() (T, error)) func() (T, error) {
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

// runAbortable runs do, which may block forever, and returns when it or the context
// is done. doing names the activity, for example "reading app.yaml"; do's
// context names its parts.
func runAbortable[T any](ctx context.Context, doing string, do func(context.Context) (T, error)) (T, error) {
	ctx, done := activity.Start(ctx, doing)
	defer done()
	return startAsync(ctx, func() (T, error) { return do(ctx) })()
}

// ended returns the reason why a context is done, for the user.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return apply.ErrInterrupted
}

// orInterrupted replaces errors of canceled requests by the interrupt that
// caused them.
func orInterrupted(ctx context.Context, err error) error {
	var undone *state.UndoneError
	if err = orTimedOut(ctx, err); ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.Is(err, apply.ErrInterrupted) || errors.As(err, &undone) {
		return err
	}
	kept := []error{ended(ctx)}
	for _, fault := range events.FlattenErrors(err) {
		if !errors.Is(fault, context.Canceled) {
			kept = append(kept, fault)
		}
	}
	return errors.Join(kept...)
}
