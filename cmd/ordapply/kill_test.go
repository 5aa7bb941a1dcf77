package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// After a kill at any request the next run finishes the work.
func TestKilledAtAnyRequest(t *testing.T) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	cluster := battered.Get(t)
	counter := recorder.Start(t, cluster.Kubeconfig)
	code, output := applyThrough(counter.Kubeconfig, faultStream("kill"))
	require.Equal(t, report.ExitDone, code, output)
	every := int32(len(counter.Requests()))
	t.Logf("a run makes %d requests", every)
	for k := int32(1); k <= every; k++ {
		t.Run(fmt.Sprint("request ", k), func(t *testing.T) {
			t.Parallel()
			stream := faultStream(fmt.Sprintf("kill-%d", k))
			proxy := recorder.Start(t, cluster.Kubeconfig)
			cmd := exec.Command(bin, "apply", "-f", "-", "--kubeconfig", proxy.Kubeconfig)
			cmd.Stdin = bytes.NewReader(stream)
			var arrived atomic.Int32
			err := proxy.RunSignalled(cmd, os.Kill, func(*recorder.Request) bool { return arrived.Add(1) == k })
			if k < every-2 { // the number of discovery requests varies between runs
				require.Error(t, err)
			}
			proxy.Inject(nil)
			code, output := applyThrough(proxy.Kubeconfig, stream)
			require.Equal(t, report.ExitDone, code, output)
		})
	}
}

// The first interrupt lets pending requests finish, reports that the work is
// incomplete, and exits with 130.
func TestInterrupted(t *testing.T) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	cluster := battered.Get(t)
	stream := faultStream("interrupted")
	proxy := recorder.Start(t, cluster.Kubeconfig)
	cmd := exec.Command(bin, "apply", "-f", "-", "--kubeconfig", proxy.Kubeconfig)
	cmd.Stdin = bytes.NewReader(stream)
	var output bytes.Buffer
	cmd.Stderr = &output
	err = proxy.RunSignalled(cmd, os.Interrupt, recorder.Verb("patch", "deployments"))
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, report.ExitInterrupted, failed.ExitCode(), output.String())
	require.Contains(t, output.String(), "1 not finished")
	require.Contains(t, output.String(), "error: interrupted: no further resource was started; run the same command again to finish")
	proxy.Inject(nil)
	code, again := applyThrough(proxy.Kubeconfig, stream)
	require.Equal(t, report.ExitDone, code, again)
}
