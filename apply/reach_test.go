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
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// refused returns the error of a watch on a server that does not listen.
func refused() error { return fmt.Errorf("dial tcp 10.0.0.1:443: %w", syscall.ECONNREFUSED) }

// An API server that becomes unreachable while nothing is sent is reported
// once, and once more when it is back; a short outage is not reported.
func TestRunReportsAnUnreachableServer(t *testing.T) {
	for name, c := range map[string]struct {
		back     time.Duration // after it went away; 0: never
		sick     time.Duration // after it went away it answers with an error; 0: never
		reported []string
		ended    string
	}{
		"for good": {0, 0, []string{
			"the API server has been unreachable since 00:00:10: dial tcp 10.0.0.1:443: connection refused; before that: Pod is in the Pending phase",
		}, "not ready after 1m0s (--wave-timeout): the API server has been unreachable since 00:00:10: dial tcp 10.0.0.1:443: connection refused; before that: Pod is in the Pending phase"},
		"for a while": {20 * time.Second, 0, []string{
			"the API server has been unreachable since 00:00:10: dial tcp 10.0.0.1:443: connection refused; before that: Pod is in the Pending phase",
			"the API server is reachable again; Pod is in the Pending phase",
		}, "not ready after 1m0s (--wave-timeout): "},
		"for a moment":      {3 * time.Second, 0, nil, "not ready after 1m0s (--wave-timeout): Pod is in the Pending phase"},
		"while it restarts": {0, 3 * time.Second, nil, "not ready after 1m0s (--wave-timeout): Pod is in the Pending phase"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream := planOf(t, testPod("a", 0, ""), testPod("b", 0, ""))
				cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("a"): {Never: true}, pod("b"): {Never: true}}}
				for n := range 3 {
					time.AfterFunc(10*time.Second+time.Duration(n)*time.Second/2, func() { cluster.Report(kube.WatchEvent{Disconnected: refused()}) })
				}
				if c.back > 0 {
					time.AfterFunc(10*time.Second+c.back, func() { cluster.Report(kube.WatchEvent{Reconnected: true}) })
				}
				if c.sick > 0 {
					starting := kube.WatchEvent{Disconnected: apierrors.NewServiceUnavailable("the server is starting")}
					time.AfterFunc(10*time.Second+c.sick, func() { cluster.Report(starting) })
				}
				var reported []string
				_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute, Events: func(e event.Event) {
					if strings.Contains(e.Detail, "API server") && !e.State.Final() {
						reported = append(reported, e.Detail)
					}
				}}.Run(t.Context(), plan, stream.Objects)
				for _, name := range []string{"a", "b"} {
					require.ErrorContains(t, err, "wait for Pod shop/"+name+": "+c.ended)
				}
				require.Equal(t, c.reported, reported)
			})
		})
	}
}
