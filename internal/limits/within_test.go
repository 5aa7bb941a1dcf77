package limits_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/limits"
)

// An evaluation that does not end is abandoned, no other is started beside it, and once it
// ended after all, the next one counts.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e limits.Evaluations
		result, ok := limits.Within(&e, time.Second, func() int { return 1 })
		require.True(t, ok)
		require.Equal(t, 1, result)

		goOn := make(chan struct{})
		_, ok = limits.Within(&e, time.Second, func() int { <-goOn; return 2 })
		require.False(t, ok)
		require.True(t, e.Abandoned())
		_, ok = limits.Within(&e, time.Second, func() int { t.Error("started beside an abandoned one"); return 3 })
		require.False(t, ok)

		close(goOn)
		synctest.Wait()
		require.False(t, e.Abandoned())
		result, ok = limits.Within(&e, time.Second, func() int { return 4 })
		require.True(t, ok)
		require.Equal(t, 4, result)
	})
}
