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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/recorder"
	"github.com/ordapply/ordapply/state"
)

// While a request is out, the first interrupt is heard at once, and what was sent may
// be answered; the second one ends the process at once. Both have the same exit code.
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
			arrived := holdUp(t, proxy, recorder.Verb("patch", "configmaps"))
			p := begin(t, "apply", "-f", file, "--kubeconfig", proxy.Kubeconfig)
			<-arrived
			require.NoError(t, p.Process.Signal(signals[0]))
			p.await(t, "interrupted: finishing what was sent; once more ends at once")
			begin := time.Now()
			require.NoError(t, p.Process.Signal(signals[1]))
			require.Equal(t, exitInterrupted, p.end())
			require.Less(t, time.Since(begin), 5*time.Second, "it waited for the request")
			require.NotContains(t, p.said.String(), "error:", "it went on")
		})
	}
	t.Run("once", func(t *testing.T) {
		arrived := holdUp(t, proxy, recorder.Verb("patch", "configmaps"))
		p := begin(t, "apply", "-f", file, "--kubeconfig", proxy.Kubeconfig, "-o", "json")
		<-arrived
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Equal(t, exitInterrupted, p.end())
		require.Contains(t, p.said.String(), "error: interrupted: no further resource was started; run the same command again to finish")
		require.Contains(t, p.out.String(), `"type":"runEnd"`)
		require.Contains(t, p.out.String(), `"state":"interrupted","exitCode":130`)
	})
}

// Who waits for the lock of an apply set, or for manifests, is interrupted as well.
func TestInterruptedBeforeTheRun(t *testing.T) {
	t.Run("manifests", func(t *testing.T) {
		p := begin(t, "apply", "-f", "-")
		_, err := p.stdin.Write([]byte(strings.Repeat("# more than a pipe holds: the program reads\n", 10_000)))
		require.NoError(t, err)
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Equal(t, exitInterrupted, p.end())
		require.Equal(t, "error: interrupted: no further resource was started; run the same command again to finish\n", p.said.String())
	})
	t.Run("lock", func(t *testing.T) {
		cluster := battered.Get(t)
		cluster.Kubectl(t, "create", "namespace", "interrupted-lock")
		folder := t.TempDir()
		lease, app := filepath.Join(folder, "lease.yaml"), filepath.Join(folder, "app.yaml")
		require.NoError(t, os.WriteFile(lease, []byte(heldLease), 0o600))
		require.NoError(t, os.WriteFile(app, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"), 0o600))
		cluster.Kubectl(t, "apply", "-f", lease)
		p := begin(t, "apply", "-f", app, "--applyset", "shop", "-n", "interrupted-lock", "--lock-timeout", "5m", "--kubeconfig", cluster.Kubeconfig)
		p.await(t, "waiting for another run on apply set shop")
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Equal(t, exitInterrupted, p.end(), p.said.String())
		require.Contains(t, p.said.String(), "error: interrupted: ")
	})
}

// HTTP/2 says of a request that an interrupt ended no more than that its context was
// cancelled.
func TestARequestThatAnInterruptEnded(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	canceled := fmt.Errorf("read the parent of the apply set: %w", context.Canceled)
	require.Equal(t, canceled, orInterrupted(ctx, canceled), "nobody interrupted it")
	interrupt(interruption{})
	require.NoError(t, orInterrupted(ctx, nil))
	require.EqualError(t, orInterrupted(ctx, canceled), apply.ErrInterrupted.Error())
	require.Equal(t, exitInterrupted, exitCode(orInterrupted(ctx, canceled)))
	denied := errors.New("denied")
	require.Equal(t, denied, orInterrupted(ctx, denied))
	require.EqualError(t, orInterrupted(ctx, errors.Join(denied, canceled)), apply.ErrInterrupted.Error()+"\ndenied")
	undone := &state.UndoneError{Failure: denied, Err: canceled}
	require.Equal(t, error(undone), orInterrupted(ctx, undone), "the rollback tells of its own end")
}

const heldLease = `apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: ordapply.secret.shop, namespace: interrupted-lock}
spec: {holderIdentity: ann@laptop process 1, leaseDurationSeconds: 3600, acquireTime: "2026-01-01T00:00:00.000000Z", renewTime: "2026-01-01T00:01:00.000000Z"}
`

// holdUp answers requests that fit never, and tells of each.
func holdUp(t *testing.T, proxy *recorder.Proxy, fits func(*recorder.Request) bool) (arrived <-chan struct{}) {
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

// begun is the real program while it runs.
type begun struct {
	*exec.Cmd
	stdin     io.Writer
	out, said strings.Builder // what it wrote; said may be read when it ended
	lines     chan string     // of standard error
}

// begin starts the program that this test is built of.
func begin(t *testing.T, args ...string) *begun {
	t.Helper()
	p := &begun{Cmd: exec.Command("ordapply", args...), lines: make(chan string, 1000)}
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

func (p *begun) listen(stderr io.Reader) {
	defer close(p.lines)
	for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
		p.lines <- scanner.Text()
	}
}

// await returns when the program says something.
func (p *begun) await(t *testing.T, text string) {
	t.Helper()
	for line := range p.lines {
		p.said.WriteString(line + "\n")
		if strings.Contains(line, text) {
			return
		}
	}
	t.Fatalf("it never said %q:\n%s", text, p.said.String())
}

// end waits for the program's end, and gives its exit code.
func (p *begun) end() int {
	for line := range p.lines {
		p.said.WriteString(line + "\n")
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}
