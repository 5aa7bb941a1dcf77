package apply_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// refused returns the error of a watch on a server that does not listen.
func refused() error { return fmt.Errorf("dial tcp 10.0.0.1:443: %w", syscall.ECONNREFUSED) }

// report sends a change of the connection to all watches.
func (c *scripted) report(change kube.WatchEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		w.changes <- change
	}
}

// An API server that becomes unreachable while nothing is sent is reported
// once, and once more when it is back; a short outage is not reported.
func TestRunTellsThatTheServerIsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		back  time.Duration // after it went away; 0: never
		sick  time.Duration // after it went away it answers with an error; 0: never
		told  []string
		ended string
	}{
		"for good": {0, 0, []string{
			"the API server has been unreachable since 00:00:10: dial tcp 10.0.0.1:443: connection refused; before that: Pod is in the Pending phase",
		}, "not ready after 1m0s (wave timeout): the API server has been unreachable since 00:00:10: dial tcp 10.0.0.1:443: connection refused; before that: Pod is in the Pending phase"},
		"for a while": {20 * time.Second, 0, []string{
			"the API server has been unreachable since 00:00:10: dial tcp 10.0.0.1:443: connection refused; before that: Pod is in the Pending phase",
			"the API server is reachable again; Pod is in the Pending phase",
		}, "not ready after 1m0s (wave timeout): "},
		"for a moment":      {3 * time.Second, 0, nil, "not ready after 1m0s (wave timeout): Pod is in the Pending phase"},
		"while it restarts": {0, 3 * time.Second, nil, "not ready after 1m0s (wave timeout): Pod is in the Pending phase"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream := planOf(t, testPod("a", 0, ""), testPod("b", 0, ""))
				cluster := &scripted{scripts: map[object.ID]script{pod("a"): {never: true}, pod("b"): {never: true}}}
				for n := range 3 {
					time.AfterFunc(10*time.Second+time.Duration(n)*time.Second/2, func() { cluster.report(kube.WatchEvent{Disconnected: refused()}) })
				}
				if c.back > 0 {
					time.AfterFunc(10*time.Second+c.back, func() { cluster.report(kube.WatchEvent{Reconnected: true}) })
				}
				if c.sick > 0 {
					starting := kube.WatchEvent{Disconnected: apierrors.NewServiceUnavailable("the server is starting")}
					time.AfterFunc(10*time.Second+c.sick, func() { cluster.report(starting) })
				}
				var told []string
				_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute, Events: func(e apply.Event) {
					if strings.Contains(e.Detail, "API server") && !e.State.Final() {
						told = append(told, e.Detail)
					}
				}}.Run(t.Context(), plan, stream.Objects)
				for _, name := range []string{"a", "b"} {
					require.ErrorContains(t, err, "wait for Pod shop/"+name+": "+c.ended)
				}
				require.Equal(t, c.told, told)
			})
		})
	}
}

// The same is reported during a deletion.
func TestRemovalTellsThatTheServerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(pod("a"))
		cluster.ends[pod("a")] = end{goneAfter: 40 * time.Second}
		time.AfterFunc(10*time.Second, func() { cluster.report(kube.WatchEvent{Disconnected: refused()}) })
		time.AfterFunc(30*time.Second, func() { cluster.report(kube.WatchEvent{Reconnected: true}) })
		var told []string
		_, err := apply.Remover{Cluster: cluster, Events: func(e apply.Event) {
			if strings.Contains(e.Detail, "API server") {
				told = append(told, e.Detail)
			}
		}}.Run(t.Context(), inWaves(wave(pod("a"))), cluster.found())
		require.NoError(t, err)
		require.Len(t, told, 2)
		require.Contains(t, told[0], "the API server has been unreachable since 00:00:10: ")
		require.Contains(t, told[1], "the API server is reachable again")
	})
}
