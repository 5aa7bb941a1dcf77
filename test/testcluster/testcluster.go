// Package testcluster provides tests and the demo with a real control plane,
// through the localcluster command that `make localcluster` builds.
//
//	cluster := testcluster.Start(t)            // for one test
//	cluster := shared.Get(t)                   // for a package, with testcluster.Shared
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
	Dir        string // contains all files of the cluster
	Kubeconfig string
	bin        string // path of the localcluster command
	stdin      io.Closer
	process    *exec.Cmd
	output     bytes.Buffer // output of localcluster; must not be read before it has ended
}

// Start runs a control plane until the test ends. flags are for `localcluster up`. Without
// the command the test is skipped; in CI it fails.
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

// Shared is a control plane for many tests, each with its own namespace and its
// own names for cluster-scoped objects. It is started on first use and runs
// until Down. With go test -count, each round has a new one.
type Shared struct {
	mu      sync.Mutex
	cluster *Cluster
	dir     string
	users   map[string]testing.TB // by test name, of this round
}

// Get returns the control plane. Without the localcluster command the test is
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

// Down stops the control plane if it was started. The error contains the output
// of one that ended early.
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

// Skip skips a test that misses something; in CI it fails instead. With -short,
// control planes are missing by intention.
func Skip(t testing.TB, missing string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("left out with -short: %s", missing)
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("missing in CI: %s", missing)
	}
	t.Skipf("skipped: it needs %s", missing)
}

// Find returns the path of a command that the Makefile builds, of localcluster not with
// -short: in $ORDAPPLY_BIN, else bin/ of the module, then PATH.
func Find(name string) (string, error) {
	if testing.Testing() && testing.Short() && name == "localcluster" {
		return "", errors.New("with -short no control plane is started")
	}
	for _, dir := range []string{os.Getenv("ORDAPPLY_BIN"), "bin", "../bin", "../../bin", "../../../bin"} {
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

// Up starts a control plane that ends with this process at the latest. It
// copies localcluster's output to progress.
func Up(bin, dir string, progress io.Writer, flags ...string) (*Cluster, error) {
	args := append([]string{"up", "--attached", "--timeout", "5m", "--dir", dir}, flags...)
	c := &Cluster{Dir: dir, bin: bin, process: exec.Command(bin, args...)}
	c.process.Stderr = io.MultiWriter(&c.output, progress)
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

// Down stops the control plane and removes its folder. The error contains the
// output of a cluster that ended early.
func (c *Cluster) Down() error {
	_ = c.stdin.Close()
	if err := c.process.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, c.output.String())
	}
	return nil
}

// AuditLog returns the path of the API server's audit log.
func (c *Cluster) AuditLog() string { return filepath.Join(c.Dir, "audit.log") }

// Kubectl runs kubectl on the cluster and returns its output; if kubectl fails,
// the test fails.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl(args...)
	require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return out
}

// TryKubectl runs kubectl on the cluster and returns its combined output.
func (c *Cluster) TryKubectl(args ...string) (string, error) {
	command := c.KubectlCommand(args...)
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	return string(out), err
}

// KubectlCommand returns the command line that runs kubectl on the cluster.
func (c *Cluster) KubectlCommand(args ...string) []string {
	return append([]string{c.bin, "kubectl", "--dir", c.Dir, "--"}, args...)
}

// BinDir returns the folder of the control plane's binaries, which include
// kubectl.
func (c *Cluster) BinDir(t testing.TB) string {
	t.Helper()
	out, err := exec.Command(c.bin, "build", "--print-dir").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}
