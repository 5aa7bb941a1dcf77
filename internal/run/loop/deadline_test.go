package loop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Work after a run's timeout has a time of its own, and still ends on an interrupt.
func TestWorkAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := errors.New("interrupted")
		command, interrupt := context.WithCancelCause(t.Context())
		ctx, cancel := WithTimeout(command, time.Minute, context.DeadlineExceeded)
		defer cancel()
		during, cancel := PastDeadline(ctx, time.Hour)
		defer cancel()
		<-ctx.Done()
		require.ErrorIs(t, during.Err(), context.DeadlineExceeded, "it began before the timeout")

		first, cancel := PastDeadline(ctx, 10*time.Second)
		defer cancel()
		began := time.Now()
		<-first.Done()
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, ByRunTimeout, EndOf(first))

		second, cancel := PastDeadline(first, time.Hour)
		defer cancel()
		require.NoError(t, second.Err())
		interrupt(interrupted)
		synctest.Wait()
		require.Equal(t, interrupted, context.Cause(second))
		require.Equal(t, ByInterrupt, EndOf(second))
	})
}
