package main

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// The API server's process is killed during a wave and restarted two seconds
// later: while PATCHes are pending, and while a Deployment is waited for. The
// run continues when it is back.
func TestAPIServerRestartsInAWave(t *testing.T) {
	t.Parallel()
	dir := testcluster.StartDetached(t)
	for name, fits := range map[string]func(*recorder.Request) bool{
		"sending": recorder.Verb("patch", "configmaps"),
		"waiting": recorder.Verb("watch", "deployments"),
	} {
		t.Run(name, func(t *testing.T) {
			proxy := recorder.Start(t, filepath.Join(dir, "kubeconfig"))
			var once sync.Once
			proxy.Inject(func(r *recorder.Request) recorder.Fault {
				if fits(r) {
					once.Do(func() { testcluster.RestartAPIServer(t, dir, 2*time.Second) })
				}
				return nil
			})
			code, output := applyThrough(proxy.Kubeconfig, faultStream("restart-"+name), "--crd-timeout", "3m")
			require.Equal(t, report.ExitDone, code, output)
			once.Do(func() { require.Fail(t, "it was never killed", output) })
			code, output = applyThrough(proxy.Kubeconfig, faultStream("restart-"+name), "--crd-timeout", "3m")
			require.Equal(t, report.ExitDone, code, output)
			require.Contains(t, output, "unchanged")
		})
	}
	unservedKinds(t, dir)
}
