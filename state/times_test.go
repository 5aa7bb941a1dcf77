package state

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// A run is given the times of the last one that succeeded. Neither a run
// that failed nor the same again changes them.
func TestTimesOfTheLastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		slow := 3 * time.Second
		cluster.Refuse = func(verb string, _ kube.Kind, _, name string) error {
			if verb == "apply" && name == "bad" {
				return apierrors.NewBadRequest("wrong")
			}
			if verb == "apply" && (name == "a" || name == "b") {
				time.Sleep(slow)
			}
			return nil
		}
		last := func(objects ...string) track.RunTimes {
			var got track.RunTimes
			r := runOf(t, cluster, objects...)
			r.OnLastRun = func(times track.RunTimes) { got = times }
			_, err := r.Do(t.Context())
			if len(objects) < 3 {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
			return got
		}
		require.Zero(t, last("ConfigMap shop/a"))
		first := last("ConfigMap shop/a")
		require.InDelta(t, 3, first.Seconds, 1)
		require.Len(t, first.ByWave, 1)
		require.InDelta(t, 3, first.ByWave[0].Seconds, 1)
		slow = time.Minute
		require.Equal(t, first, last("ConfigMap shop/a", "ConfigMap shop/b", "ConfigMap shop/bad"), "nothing was stored by the same again")
		require.Equal(t, first, last("ConfigMap shop/a"), "nor by the run that failed")
		entries, err := historyOf(t, runOf(t, cluster, "ConfigMap shop/a")).List(t.Context())
		require.NoError(t, err)
		require.InDelta(t, 60, entries[1].Seconds, 2, "but how long it took is in the history")
		require.Empty(t, entries[1].ByWave)
	})
}
