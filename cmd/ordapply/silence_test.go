package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// If the API server becomes unreachable during a wait, and there is nothing to
// send, this is reported, and so is its return. If it stays unreachable the
// error says so, and no diagnosis is made.
func TestServerGoesAwayDuringAWait(t *testing.T) {
	t.Parallel()
	cluster := shared.Get(t)
	for name, c := range map[string]struct {
		back   time.Duration // after it became unreachable; 0 for never
		says   []string
		unsaid []string
	}{
		"for-good": {0, []string{
			" waiting: the API server has been unreachable since ",
			"not ready after 30s (--wave-timeout): the API server has been unreachable since ",
			"; before that: Available: 0/1",
			"\n  the cause was not determined: the API server has been unreachable since ",
		}, []string{"context deadline exceeded", "reachable again"}},
		"for-a-while": {7 * time.Second, []string{
			" waiting: the API server has been unreachable since ",
			" waiting: the API server is reachable again; Available: 0/1",
			"not ready after 30s (--wave-timeout): ",
			"CrashLoopBackOff",
		}, []string{"context deadline exceeded", "the cause was not determined"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := recorder.Start(t, cluster.Kubeconfig)
			go func() {
				if !isUnavailable(t, cluster, "silence-"+name) {
					return
				}
				mend := proxy.Break()
				if c.back > 0 {
					time.AfterFunc(c.back, mend)
				}
			}()
			code, output := applyThrough(proxy.Kubeconfig, []byte(fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {localcluster/behaviour: crash-loop}}
    spec: {containers: [{name: c, image: c}]}
`, "silence-"+name)), "--wave-timeout", "30s")
			require.Equal(t, report.ExitTimedOut, code, output)
			for _, words := range c.says {
				require.Contains(t, output, words)
			}
			for _, words := range c.unsaid {
				require.NotContains(t, output, words)
			}
		})
	}
}

// isUnavailable waits until a Deployment's status counts an unavailable replica, and a
// moment longer, in which a run that waits for it reads that; false if the test ends first.
func isUnavailable(t *testing.T, cluster *testcluster.Cluster, name string) bool {
	for t.Context().Err() == nil {
		replicas, err := cluster.TryKubectl("get", "deployment", name, "-o", "jsonpath={.status.unavailableReplicas}")
		time.Sleep(2 * time.Second)
		if err == nil && replicas == "1" {
			return true
		}
	}
	return false
}
