package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/test/recorder"
)

// During a request the first interrupt is reported immediately, and the request
// may be answered; the second one ends the process immediately. Both give the
// same exit code.
func TestTheSecondInterruptEndsAtOnce(t *testing.T) {
	proxy := recorder.Start(t, battered.Get(t).Kubeconfig)
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: interrupted-twice, namespace: default}}\n"), 0o600))
	for name, signals := range map[string][]os.Signal{
		"keyboard": {os.Interrupt, os.Interrupt},
		"kubelet":  {syscall.SIGTERM, syscall.SIGTERM},
		"both":     {syscall.SIGTERM, os.Interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			arrived := blockRequests(t, proxy, recorder.Verb("patch", "configmaps"))
			p := startProgram(t, "apply", "-f", file, "--kubeconfig", proxy.Kubeconfig)
			<-arrived
			require.NoError(t, p.Process.Signal(signals[0]))
			p.await(t, "interrupted: finishing requests in flight; interrupt again to stop now")
			begin := time.Now()
			require.NoError(t, p.Process.Signal(signals[1]))
			require.Equal(t, report.ExitInterrupted, p.end())
			require.Less(t, time.Since(begin), 9*time.Second, "it waited for the request, which has 10 s")
			require.NotContains(t, p.printed.String(), "error:", "it went on")
		})
	}
	t.Run("once", func(t *testing.T) {
		arrived := blockRequests(t, proxy, recorder.Verb("patch", "configmaps"))
		p := startProgram(t, "apply", "-f", file, "--kubeconfig", proxy.Kubeconfig, "-o", "json")
		<-arrived
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Equal(t, report.ExitInterrupted, p.end())
		require.Contains(t, p.printed.String(), "error: interrupted: no further resource was started; run the same command again to finish")
		require.Contains(t, p.out.String(), `"type":"runEnd"`)
		require.Contains(t, p.out.String(), `"state":"interrupted","exitCode":130`)
	})
}

// An interrupt ends the process even if its work looks at no context.
func TestAnInterruptedProcessEnds(t *testing.T) {
	for name, second := range map[string]bool{"after a time": false, "at a second signal": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				interrupted := false
				signals <- syscall.SIGTERM
				if second {
					signals <- syscall.SIGTERM
				}
				began := time.Now()
				awaitSignals(signals, func() { interrupted = true })
				require.True(t, interrupted)
				require.Equal(t, second, time.Since(began) < limits.Shutdown)
			})
		})
	}
	require.Greater(t, limits.Shutdown, 2*loop.ShutdownGrace)
}

// An interrupt also ends waiting for the lock of an apply set, or for
// manifests.
func TestInterruptedBeforeTheRun(t *testing.T) {
	t.Run("manifests", func(t *testing.T) {
		p := startProgram(t, "apply", "-f", "-")
		_, err := p.stdin.Write([]byte(strings.Repeat("# more than a pipe holds: the program reads\n", 10_000)))
		require.NoError(t, err)
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Equal(t, report.ExitInterrupted, p.end())
		require.Equal(t, "error: interrupted: no further resource was started; run the same command again to finish\n", p.printed.String())
	})
	t.Run("lock", func(t *testing.T) {
		cluster := battered.Get(t)
		cluster.Kubectl(t, "create", "namespace", "interrupted-lock")
		folder := t.TempDir()
		lease, app := filepath.Join(folder, "lease.yaml"), filepath.Join(folder, "app.yaml")
		require.NoError(t, os.WriteFile(lease, []byte(heldLease), 0o600))
		require.NoError(t, os.WriteFile(app, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"), 0o600))
		cluster.Kubectl(t, "apply", "-f", lease)
		p := startProgram(t, "apply", "-f", app, "--applyset", "shop", "-n", "interrupted-lock", "--lock-timeout", "5m", "--kubeconfig", cluster.Kubeconfig)
		p.await(t, "waiting for another run on apply set shop")
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Equal(t, report.ExitInterrupted, p.end(), p.printed.String())
		require.Contains(t, p.printed.String(), "error: interrupted: ")
	})
}

// With HTTP/2 the error of an interrupted request is only that its context was
// canceled.
func TestARequestThatAnInterruptEnded(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	canceled := fmt.Errorf("read the parent of the apply set: %w", context.Canceled)
	require.Equal(t, canceled, report.WithInterrupt(ctx, canceled), "without an interrupt it stays as it is")
	interrupt(abortable.Interruption{})
	require.NoError(t, report.WithInterrupt(ctx, nil))
	require.EqualError(t, report.WithInterrupt(ctx, canceled), event.ErrInterrupted.Error())
	require.Equal(t, report.ExitInterrupted, report.ExitCode(report.WithInterrupt(ctx, canceled)))
	denied := errors.New("denied")
	require.Equal(t, denied, report.WithInterrupt(ctx, denied))
	require.EqualError(t, report.WithInterrupt(ctx, errors.Join(denied, canceled)), event.ErrInterrupted.Error()+"\ndenied")
	undone := &state.UndoneError{Failure: denied, Err: canceled}
	require.Equal(t, error(undone), report.WithInterrupt(ctx, undone), "the rollback reports its own end")
}

const heldLease = `apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: ordapply.secret.shop, namespace: interrupted-lock}
spec: {holderIdentity: ann@laptop process 1, leaseDurationSeconds: 3600, acquireTime: "2026-01-01T00:00:00.000000Z", renewTime: "2026-01-01T00:01:00.000000Z"}
`

// blockRequests never responds to matching requests, and sends for each.
func blockRequests(t *testing.T, proxy *recorder.Proxy, fits func(*recorder.Request) bool) (arrived <-chan struct{}) {
	t.Helper()
	seen, over := make(chan struct{}, 10), make(chan struct{})
	proxy.Inject(recorder.Always(fits, func(_ http.ResponseWriter, r *http.Request) {
		seen <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); proxy.Inject(nil) })
	return seen
}

// runningProgram is a running process of the real program.
type runningProgram struct {
	*exec.Cmd
	stdin        io.Writer
	out, printed strings.Builder // its output; printed may be read after it has ended
	lines        chan string     // of standard error
}

// startProgram starts the program from the test binary.
func startProgram(t *testing.T, args ...string) *runningProgram {
	t.Helper()
	p := &runningProgram{Cmd: exec.Command("ordapply", args...), lines: make(chan string, 1000)}
	p.Stdout = &p.out
	var err error
	p.stdin, err = p.StdinPipe()
	require.NoError(t, err)
	stderr, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	go p.listen(stderr)
	return p
}

func (p *runningProgram) listen(stderr io.Reader) {
	defer close(p.lines)
	for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
		p.lines <- scanner.Text()
	}
}

// await returns when the program prints a text.
func (p *runningProgram) await(t *testing.T, text string) {
	t.Helper()
	for line := range p.lines {
		p.printed.WriteString(line + "\n")
		if strings.Contains(line, text) {
			return
		}
	}
	t.Fatalf("it never printed %q:\n%s", text, p.printed.String())
}

// end waits for the program's end and returns its exit code.
func (p *runningProgram) end() int {
	for line := range p.lines {
		p.printed.WriteString(line + "\n")
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}
