package engines

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/engines/binaries"
	"github.com/ordapply/ordapply/test/testcluster"
)

// process is a program that runs until the test ends.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan error
}

// start runs a program. It ends with the test, in the reverse order of starts; its last
// lines are shown if the test failed.
func start(t *testing.T, dir, name, program string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(program, args...), log: filepath.Join(dir, name+".log"), done: make(chan error, 1)}
	log, err := os.Create(p.log)
	require.NoError(t, err)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, append(os.Environ(), env...), log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(5 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
		_ = log.Close()
		if t.Failed() {
			p.showLog(t)
		}
	})
	return p
}

// showLog prints the end of a program's output.
func (p *process) showLog(t *testing.T) {
	text, err := os.ReadFile(p.log)
	if err == nil {
		t.Logf("%s printed at last:\n%s", p.name, text[max(0, len(text)-4000):])
	}
}

// untilAnswers waits until an address answers with 200, or the program ends.
func (p *process) untilAnswers(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-p.done:
			p.done <- err
			p.showLog(t)
			require.FailNow(t, fmt.Sprintf("%s ended: %v", p.name, err))
		default:
		}
		answer, err := http.Get(url)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
	}
	p.showLog(t)
	require.FailNow(t, p.name+" is not ready after a minute")
}

// freePort returns a port of 127.0.0.1 that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// local returns the address of a port of this machine.
func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// built returns the folder of an engine's programs and CRDs, which `make engines` builds
// into a cache. Without it the test is skipped by name.
func built(t *testing.T, engine binaries.Engine) string {
	t.Helper()
	dir, err := engine.Dir(engine.Name)
	require.NoError(t, err)
	if _, err := os.Stat(dir); err != nil {
		testcluster.Skip(t, engine.Name+" (run `make engines`)")
	}
	return dir
}

// long skips a test by name unless all tests of the engines were asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("ORDAPPLY_ENGINES") != "all" {
		t.Skip("left out: it takes minutes (make test-engines runs it)")
	}
}

// wait polls until a condition holds, and fails with the text if it does not in time.
func wait(t *testing.T, limit time.Duration, holds func() bool, text func() string) {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if holds() {
			return
		}
	}
	require.FailNow(t, text())
}

// untilServed waits until an API server serves resources whose CRDs were just applied.
func untilServed(t *testing.T, cluster *testcluster.Cluster, resources ...string) {
	t.Helper()
	for _, r := range resources {
		wait(t, time.Minute, func() bool { _, err := cluster.TryKubectl("get", r, "-A"); return err == nil }, func() string { return r + " are not served" })
	}
}
