package activity

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Each runs no more than the limit at a time, all of them, and waits for the last.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		started := make([]time.Duration, 7)
		Each(len(started), 3, func(i int) {
			started[i] = time.Since(began)
			time.Sleep(time.Second)
		})
		require.Equal(t, []time.Duration{0, 0, 0, time.Second, time.Second, time.Second, 2 * time.Second}, started)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
	Each(0, 1, func(int) { t.Error("there is nothing to do") })
}
