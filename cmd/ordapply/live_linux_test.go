package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/testcluster"
	"github.com/ordapply/ordapply/test/vt"
)

// On a terminal a run is drawn; at the end the screen shows a complete report
// and the terminal is in its original state, also after an interrupt.
func TestLiveOnATerminal(t *testing.T) {
	t.Parallel()
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	cluster := testcluster.Start(t, "--light") // its own: nothing becomes ready there, and there is no cause to report
	file := t.TempDir() + "/app.yaml"
	require.NoError(t, os.WriteFile(file, []byte(liveStream), 0o644))
	args := []string{"apply", "-f", file, "--kubeconfig", cluster.Kubeconfig}

	t.Run("drawn", func(t *testing.T) {
		p := onTerminal(t, bin, append(args, "--wave-timeout", "4s")...)
		require.Equal(t, report.ExitTimedOut, p.wait())
		require.Contains(t, p.raw.String(), "\x1b[?25l", "nothing was drawn")
		require.Regexp(t, `wave 2/3 \(first\): 1 of 2 ready, 2 of 4 overall +[0-9]+s of 4s, run [0-9]+s`, p.raw.String())
		require.Regexp(t, `Deployment live/stuck +[0-9]+s  `, p.raw.String())
		require.Contains(t, p.raw.String(), "then wave 3/3 (second): 1")
		p.requireClean(t, `^wave 1/3 \(prerequisites\): 1 ready in `, `^wave 2/3 \(first\): ended after [0-9.]+s: 1 ready, 1 timed out$`, `^2 ready, 1 timed out, 1 not started, in `, `^error: wave 2/3 \(first\): wait for Deployment live/stuck: not ready after 4s`)
	})
	t.Run("interrupted", func(t *testing.T) {
		p := onTerminal(t, bin, args...)
		p.await(t, "Deployment live/stuck")
		_, err := p.keyboard.Write([]byte{3}) // Ctrl-C
		require.NoError(t, err)
		require.Equal(t, report.ExitInterrupted, p.wait())
		p.requireClean(t, `^wave 2/3 \(first\): ended after `, `^  Deployment live/stuck: not finished`, `^2 ready, 1 not finished, 1 not started, in `, `^error: interrupted: `)
	})
	for _, env := range []string{"TERM=dumb", "TERM=", "CI=true"} {
		t.Run("not drawn with "+env, func(t *testing.T) {
			p := prepared(t, bin, append(args, "--wave-timeout", "1s")...)
			p.Env = append(p.Env, env)
			p.start(t)
			go p.look()
			require.Equal(t, report.ExitTimedOut, p.wait())
			require.Contains(t, p.raw.String(), "wave 2/3 (first): ")
			require.NotContains(t, p.raw.String(), "\x1b")
		})
	}
	t.Run("not drawn with -v", func(t *testing.T) {
		p := onTerminal(t, bin, append(args, "--wave-timeout", "1s", "-v", "1")...)
		require.Equal(t, report.ExitTimedOut, p.wait())
		require.Contains(t, p.raw.String(), "planned Deployment live/stuck in wave 2/3 (first): ")
		require.NotContains(t, p.raw.String(), "\x1b")
	})
	t.Run("orphaned", func(t *testing.T) { testOrphaned(t, bin, args, 0) })
	t.Run("process 1", func(t *testing.T) { testOrphaned(t, bin, args, syscall.CLONE_NEWPID) })
	t.Run("suspended", func(t *testing.T) {
		p := underShell(t, bin, args...)
		p.await(t, "Deployment live/stuck")
		_, err := p.keyboard.Write([]byte{26}) // Ctrl-Z
		require.NoError(t, err)
		require.Eventually(t, p.stopped, 3*time.Minute, 50*time.Millisecond, "it was never stopped")
		require.Eventually(t, func() bool { return !strings.Contains(p.shows(), "of 2 ready") }, 3*time.Minute, 50*time.Millisecond, "its frame is left")
		require.True(t, p.screen.Sane())
		p.shellSays("[1]+  Stopped\r\n$ fg\r\n")
		p.signal(t, syscall.SIGCONT)
		require.Eventually(t, func() bool { return strings.Contains(p.shows(), "of 2 ready") }, 3*time.Minute, 50*time.Millisecond, "it is not drawn again")
		require.Contains(t, p.shows(), "$ fg\n", "what the shell wrote is still there")
		_, err = p.keyboard.Write([]byte{3})
		require.NoError(t, err)
		require.Equal(t, report.ExitInterrupted, p.wait())
		p.requireClean(t, `^\$ fg$`, `^wave 2/3 \(first\): ended after `, `^error: interrupted: `)
	})
	t.Run("stopped", func(t *testing.T) {
		stream := liveStream
		for i := range 20 { // so that the frames exceed the terminal's buffer
			stream += "---\n" + strings.ReplaceAll(stuckDeployment, "stuck", fmt.Sprint("stuck-", i))
		}
		require.NoError(t, os.WriteFile(file, []byte(stream), 0o644))
		metrics := t.TempDir() + "/run.prom"
		p := atTerminal(t, bin, append(args, "--wave-timeout", "10s", "--metrics-file", metrics)...)
		awaitFile(t, metrics)
		require.NoError(t, p.Process.Signal(os.Interrupt))
		go p.look()
		require.Equal(t, report.ExitTimedOut, p.wait())
		require.Greater(t, p.raw.Len(), 4096, "the terminal was never full")
	})
	t.Run("not drawn", func(t *testing.T) {
		p := onTerminal(t, bin, append(args, "--no-live", "--wave-timeout", "2s")...)
		require.Equal(t, report.ExitTimedOut, p.wait())
		require.NotContains(t, p.raw.String(), "\x1b[")
		p.requireClean(t, `^  Deployment live/stuck +waiting: `, `^  Deployment live/stuck +timed out: `)
		require.NotContains(t, p.raw.String(), "deployment.apps/stuck", "on one terminal, the result would say it twice")
	})
	t.Run("compared with the last run", func(t *testing.T) {
		app := t.TempDir() + "/app.yaml"
		cluster.Kubectl(t, "create", "namespace", "compared")
		set := []string{"apply", "-f", app, "--kubeconfig", cluster.Kubeconfig, "-n", "compared", "--applyset", "compared", "--adopt", "any"}
		stream := strings.ReplaceAll(liveStream, "live", "compared")
		fine, _ := strings.CutSuffix(stream, "---\n"+strings.ReplaceAll(stuckDeployment, "live", "compared"))
		require.NotEqual(t, stream, fine)
		require.NoError(t, os.WriteFile(app, []byte(fine), 0o644))
		require.Equal(t, report.ExitDone, onTerminal(t, bin, set...).wait())
		require.NoError(t, os.WriteFile(app, []byte(stream), 0o644))
		p := onTerminal(t, bin, append(set, "--wave-timeout", "15s")...)
		require.Equal(t, report.ExitTimedOut, p.wait())
		require.Regexp(t, `slower than the last run: this wave took [0-9.]+m?s; about [0-9]+s after it`, p.raw.String())
	})
	t.Run("message during the run", func(t *testing.T) {
		app := t.TempDir() + "/app.yaml"
		settings := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: message, namespace: default%s}\n"
		apply := func(annotations string) *seated {
			require.NoError(t, os.WriteFile(app, fmt.Appendf(nil, settings, annotations), 0o644))
			p := onTerminal(t, bin, "apply", "-f", app, "--kubeconfig", cluster.Kubeconfig)
			require.Equal(t, report.ExitDone, p.wait())
			return p
		}
		apply(`, annotations: {ordapply.dev/layer: app/first, ordapply.dev/wave: "0"}`)
		apply("").requireClean(t, `^applying 1 resource in 1 wave `, `^warning: 1 object of the stream lost order app since the last apply`, `^1 ready, in `)
		require.Regexp(t, `^1 ready on https://\S+ \(context \S+\), in [0-9.]+m?s; 1 unchanged$`, strings.TrimSpace(apply("").screen.Text()), "nothing else stays")
	})
	t.Run("deletion asks", func(t *testing.T) {
		require.NoError(t, os.WriteFile(file, []byte(liveStream), 0o644))
		for answer, code := range map[string]int{"\r": report.ExitFailed, "n\r": report.ExitFailed, "\x03": report.ExitInterrupted} {
			refusal := map[int]string{report.ExitFailed: `^error: not confirmed: nothing was deleted`, report.ExitInterrupted: `^error: interrupted before the answer: nothing was deleted$`}[code]
			p := onTerminal(t, bin, "delete", "-f", file, "--kubeconfig", cluster.Kubeconfig)
			p.await(t, "continue? [y/N]")
			_, err := p.keyboard.Write([]byte(answer))
			require.NoError(t, err)
			require.Equal(t, code, p.wait(), answer)
			p.requireClean(t, `^this deletes 3 objects from `, `^  ConfigMap live/settings$`, `^  Deployment live/stuck$`, `^  Namespace live$`, refusal)
			require.NotContains(t, p.raw.String(), "deleting")
		}
		p := prepared(t, bin, "delete", "-f", file, "--kubeconfig", cluster.Kubeconfig)
		p.Stderr = nil // the question is where it is seen
		p.start(t)
		go p.look()
		p.await(t, "continue? [y/N]")
		_, err := p.keyboard.Write([]byte("n\r"))
		require.NoError(t, err)
		require.Equal(t, report.ExitFailed, p.wait())
		p = onTerminal(t, bin, "delete", "-f", file, "--kubeconfig", cluster.Kubeconfig, "--dry-run=server")
		require.Equal(t, report.ExitDone, p.wait())
		require.NotContains(t, p.raw.String(), "continue?")
		require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: live}\n"), 0o644))
		p = onTerminal(t, bin, "delete", "-f", file, "--kubeconfig", cluster.Kubeconfig, "--yes")
		require.Equal(t, report.ExitDone, p.wait())
		require.NotContains(t, p.raw.String(), "continue?")
		require.NoError(t, os.WriteFile(file, []byte(liveStream), 0o644))
		require.Equal(t, report.ExitTimedOut, onTerminal(t, bin, append(args, "--wave-timeout", "1s")...).wait())
	})
	t.Run("deleted", func(t *testing.T) { // no garbage collector deletes the Deployment's objects
		require.NoError(t, os.WriteFile(file, []byte(liveStream), 0o644))
		p := onTerminal(t, bin, "delete", "-f", file, "--kubeconfig", cluster.Kubeconfig, "--wave-timeout", "4s")
		p.await(t, "continue? [y/N]")
		_, err := p.keyboard.Write([]byte("y\r"))
		require.NoError(t, err)
		require.Equal(t, report.ExitTimedOut, p.wait())
		require.Regexp(t, `wave 2/3 \(first\): 1 of 2 gone, 2 of 4 overall +[0-9]+s of 4s, run [0-9]+s`, p.raw.String())
		require.Regexp(t, `Deployment live/stuck +[0-9]+s  waiting until it and its dependents are gone`, p.raw.String())
		p.requireClean(t, `^wave 2/3 \(first\): ended after [0-9.]+s: 1 deleted, 1 timed out$`, `^1 deleted, 1 timed out, 1 not started, in [0-9.]+s; 1 did not exist$`, `^error: wave 2/3 \(first\): delete Deployment live/stuck: not gone after 4s`)
		require.NotContains(t, p.screen.Text(), " of 2 gone")
	})
}

const liveStream = `apiVersion: v1
kind: Namespace
metadata: {name: live}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: live, annotations: {ordapply.dev/layer: app/first, ordapply.dev/wave: "0"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, namespace: live, annotations: {ordapply.dev/layer: app/second, ordapply.dev/wave: "1"}}
---
` + stuckDeployment

const stuckDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck, namespace: live, annotations: {ordapply.dev/layer: app/first, ordapply.dev/wave: "0"}}
spec:
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec: {containers: [{name: c, image: c}]}
`

// seated is a program on a terminal with 80 columns and 24 rows.
type seated struct {
	*exec.Cmd
	pid      int // of the program
	keyboard *os.File
	mu       sync.Mutex
	raw      strings.Builder
	screen   *vt.Terminal
	faults   error // of the screen
	read     chan struct{}
}

// On a terminal the word that begins an error has a colour, under the conditions of all colours.
func TestErrorsAreColoured(t *testing.T) {
	t.Parallel()
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	for env, want := range map[string]string{
		"NO_COLOR=":           "\x1b[31merror:\x1b[0m --wait=ordered: ",
		"NO_COLOR=1":          "error: --wait=ordered: ",
		"NO_COLOR= CI=true":   "error: --wait=ordered: ",
		"NO_COLOR= TERM=dumb": "error: --wait=ordered: ",
	} {
		t.Run(env, func(t *testing.T) {
			p := prepared(t, bin, "apply", "--wait=ordered")
			p.Env = append(append(p.Env, "COLORTERM="), strings.Fields(env)...)
			p.start(t)
			go p.look()
			require.Equal(t, report.ExitUsage, p.wait())
			require.True(t, strings.HasPrefix(p.raw.String(), want), "%q", p.raw.String())
		})
	}
}

// onTerminal starts a program on a terminal that is read.
func onTerminal(t *testing.T, bin string, args ...string) *seated {
	t.Helper()
	p := atTerminal(t, bin, args...)
	go p.look()
	return p
}

// atTerminal starts a program as a session leader on a terminal: no shell could
// continue it.
func atTerminal(t *testing.T, bin string, args ...string) *seated {
	t.Helper()
	p := prepared(t, bin, args...)
	p.start(t)
	return p
}

// prepared returns a command with a terminal, not started.
func prepared(t *testing.T, bin string, args ...string) *seated {
	t.Helper()
	master, slave := openTerminal(t)
	p := &seated{Cmd: exec.Command(bin, args...), keyboard: master, screen: vt.New(80, 24), read: make(chan struct{})}
	p.Stdin, p.Stdout, p.Stderr = slave, slave, slave
	p.Env = append(os.Environ(), "TERM=xterm", "CI=", "NO_COLOR=1")
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return p
}

func (p *seated) start(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Start())
	p.attend(t)
}

// attend leaves the terminal to the started program.
func (p *seated) attend(t *testing.T) {
	t.Helper()
	p.pid = p.Process.Pid
	require.NoError(t, p.Stdin.(*os.File).Close())
	t.Cleanup(func() { _ = p.Process.Kill(); p.keyboard.Close() })
}

// look copies the program's output to the screen until it closes.
func (p *seated) look() {
	defer close(p.read)
	buffer := make([]byte, 4096)
	for {
		n, err := p.keyboard.Read(buffer)
		p.mu.Lock()
		p.raw.Write(buffer[:n])
		if _, fault := p.screen.Write(buffer[:n]); fault != nil {
			p.faults = fault
		}
		p.mu.Unlock()
		if err != nil { // EIO: all writers have closed it
			return
		}
	}
}

func (p *seated) await(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(p.raw.String(), text)
	}, 3*time.Minute, 50*time.Millisecond)
}

// shows returns the text on the screen.
func (p *seated) shows() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.Text()
}

// shellSays writes on the screen as a shell would.
func (p *seated) shellSays(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, fault := p.screen.Write([]byte(text)); fault != nil {
		p.faults = fault
	}
}

func (p *seated) wait() int {
	_ = p.Wait()
	<-p.read
	return p.ProcessState.ExitCode()
}

// requireClean checks the final lines, and that nothing else remains.
func (p *seated) requireClean(t *testing.T, lines ...string) {
	t.Helper()
	require.NoError(t, p.faults)
	require.True(t, p.screen.Sane(), "%q", p.raw.String())
	text := p.screen.Text()
	for _, line := range lines {
		require.Regexp(t, "(?m)"+line, text)
	}
	require.NotContains(t, text, " of 2 ready")
	require.NotContains(t, text, "then wave")
}

// openTerminal creates a terminal and returns both ends.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("skipped: it needs a terminal: /dev/ptmx: %v", err)
	}
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("skipped: it needs a terminal: %v", err)
	}
	return os.NewFile(uintptr(fd), "terminal"), slave
}
