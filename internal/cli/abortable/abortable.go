// Package abortable runs calls that may block forever, such as reading a FIFO or a server
// that does not answer, so that a command ends at its --timeout or when it is interrupted,
// and names the pending call:
//
//	text, err := abortable.ReadFile(ctx, "order.yaml", "--order")
package abortable

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/activity"
)

// Interruption is the cause of a canceled context: the command was interrupted.
type Interruption struct{}

// Error returns the message of an interrupted run.
func (Interruption) Error() string { return event.ErrInterrupted.Error() }

// Is reports whether target is the interruption of a run, or of a context.
func (Interruption) Is(target error) bool {
	return target == event.ErrInterrupted || target == context.Canceled
}

// Start starts do in a goroutine. The returned function waits for its
// result or for the end of the context, since reading standard input or waiting
// for a server that does not answer cannot be canceled otherwise.
func Start[T any](ctx context.Context, do func() (T, error)) func() (T, error) {
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
			return none, Cause(ctx)
		}
	}
}

// Run runs do, which may block forever, and returns when it or the context
// is done. doing names the activity, for example "reading app.yaml"; do's
// context names its parts.
func Run[T any](ctx context.Context, doing string, do func(context.Context) (T, error)) (T, error) {
	ctx, done := activity.Start(ctx, doing)
	defer done()
	return Start(ctx, func() (T, error) { return do(ctx) })()
}

// Cause returns the reason why a context is done, for the user.
func Cause(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return event.ErrInterrupted
}
