// Package testcluster gives tests and the demo a real control plane, through
// the localcluster command that `make localcluster` builds.
//
//	cluster := testcluster.Start(t)            // of the test's own
//	cluster := shared.Get(t)                   // of a package's testcluster.Shared
//	cluster.Kubectl(t, "get", "pods")
package testcluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cluster is a running control plane.
type Cluster struct {
	Dir        string // everything of the cluster is below it
	Kubeconfig string
	bin        string // the localcluster command
	stdin      io.Closer
	process    *exec.Cmd
	said       bytes.Buffer // by localcluster; not to be read before it has ended
}

// Start runs a control plane until the test ends. Flags are those of
// `localcluster up`. Without the command the test is skipped; in CI it fails.
func Start(t testing.TB, flags ...string) *Cluster {
	t.Helper()
	bin, err := Find("localcluster")
	if err != nil {
		Skip(t, "the localcluster command (run `make localcluster`)")
	}
	dir, err := os.MkdirTemp("", "ordapply-test-")
	require.NoError(t, err)
	cluster, err := Up(bin, filepath.Join(dir, "cluster"), io.Discard, flags...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := cluster.Down(); err != nil {
			t.Errorf("take the cluster down: %v", err)
		}
		_ = os.RemoveAll(dir)
	})
	return cluster
}

// Shared is one control plane for many tests, each in a namespace of its own
// and with names of its own for what has none. It starts when it is first asked
// for, and lives until Down. When tests run more than once (go test -count),
// each round has a new one.
type Shared struct {
	mu      sync.Mutex
	cluster *Cluster
	dir     string
	users   map[string]testing.TB // by name, of this round
}

// Get is the control plane. Without the localcluster command the test is
// skipped; in CI it fails.
func (s *Shared) Get(t testing.TB) *Cluster {
	t.Helper()
	bin, err := Find("localcluster")
	if err != nil {
		Skip(t, "the localcluster command (run `make localcluster`)")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if user, known := s.users[t.Name()]; known && user != t {
		require.NoError(t, s.down())
	}
	if s.cluster == nil {
		s.users = map[string]testing.TB{}
		s.dir, err = os.MkdirTemp("", "ordapply-test-")
		require.NoError(t, err)
		s.cluster, err = Up(bin, filepath.Join(s.dir, "cluster"), io.Discard)
		require.NoError(t, err)
	}
	s.users[t.Name()] = t
	return s.cluster
}

// Down stops the control plane, if it was started. The error says what became of
// one that ended before.
func (s *Shared) Down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down()
}

func (s *Shared) down() error {
	if s.cluster == nil {
		return nil
	}
	cluster := s.cluster
	s.cluster = nil
	return errors.Join(cluster.Down(), os.RemoveAll(s.dir))
}

// Skip skips a test for want of something, by name; in CI it fails instead.
func Skip(t testing.TB, missing string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("missing in CI: %s", missing)
	}
	t.Skipf("skipped for want of %s", missing)
}

// Find looks a command up where the Makefile builds them: $ORDAPPLY_BIN, else
// bin/ of the module, then PATH.
func Find(name string) (string, error) {
	for _, dir := range []string{os.Getenv("ORDAPPLY_BIN"), "bin", "../bin", "../../bin"} {
		path, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); dir != "" && err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return exec.LookPath(name)
}

// Up starts a control plane that lives as long as this process, at the most.
// What localcluster has to tell goes to progress.
func Up(bin, dir string, progress io.Writer, flags ...string) (*Cluster, error) {
	args := append([]string{"up", "--attached", "--dir", dir}, flags...)
	c := &Cluster{Dir: dir, bin: bin, process: exec.Command(bin, args...)}
	c.process.Stderr = io.MultiWriter(&c.said, progress)
	stdin, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	path, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ready {
		return nil, errors.Join(fmt.Errorf("localcluster up: no cluster: %s", line), c.Down())
	}
	c.Kubeconfig = path
	return c, nil
}

// Down stops the control plane and removes its folder. The error says what
// became of a cluster that ended before.
func (c *Cluster) Down() error {
	_ = c.stdin.Close()
	if err := c.process.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, c.said.String())
	}
	return nil
}

// AuditLog is the API server's record of every request.
func (c *Cluster) AuditLog() string { return filepath.Join(c.Dir, "audit.log") }

// Kubectl runs kubectl on the cluster and returns what it printed; the test
// fails when kubectl does.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl(args...)
	require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return out
}

// TryKubectl runs kubectl on the cluster and returns what it printed on both
// streams.
func (c *Cluster) TryKubectl(args ...string) (string, error) {
	command := c.KubectlCommand(args...)
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	return string(out), err
}

// KubectlCommand is the command line that runs kubectl on the cluster.
func (c *Cluster) KubectlCommand(args ...string) []string {
	return append([]string{c.bin, "kubectl", "--dir", c.Dir, "--"}, args...)
}

// BinDir is the folder of the control plane's binaries, kubectl among them.
func (c *Cluster) BinDir(t testing.TB) string {
	t.Helper()
	out, err := exec.Command(c.bin, "build", "--print-dir").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}
