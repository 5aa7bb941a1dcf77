package abortable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/abortable"
)

// forever is a call that its context does not end; it returns when the test is over.
func forever(t *testing.T) func(context.Context) (string, error) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return func(context.Context) (string, error) { <-over; return "too late", nil }
}

// A result that is there counts, even if the context ended before it was asked for. A pending
// call ends with the cause of its context, and any cancellation is an interrupt.
func TestResultOrCause(t *testing.T) {
	lost := errors.New("connection lost")
	for name, c := range map[string]struct{ cause, want error }{
		"interrupted":       {abortable.Interruption{}, event.ErrInterrupted},
		"canceled":          {context.Canceled, event.ErrInterrupted},
		"canceled in words": {errors.Join(lost, context.Canceled), event.ErrInterrupted},
		"a deadline":        {context.DeadlineExceeded, context.DeadlineExceeded},
		"another cause":     {lost, lost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				require.NoError(t, abortable.Cause(ctx))
				done := abortable.Start(ctx, func() (string, error) { return "done", lost })
				pending := forever(t)
				waiting := abortable.Start(ctx, func() (string, error) { return pending(ctx) })
				synctest.Wait()
				end(c.cause)
				for range 100 { // select would choose either
					text, err := done()
					require.Equal(t, "done", text)
					require.Equal(t, lost, err)
				}
				text, err := waiting()
				require.Empty(t, text)
				require.Equal(t, c.want, err)
			})
		})
	}
	require.ErrorIs(t, abortable.Interruption{}, context.Canceled)
	require.ErrorIs(t, abortable.Interruption{}, event.ErrInterrupted)
	require.NotErrorIs(t, abortable.Interruption{}, context.DeadlineExceeded)
}
