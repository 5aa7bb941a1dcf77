package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// bench is one benchmark with its own folder and number of rounds.
type bench struct {
	dir    string
	rounds int
}

// cluster starts a control plane for this benchmark.
func (b *bench) cluster(name string, flags ...string) (*testcluster.Cluster, error) {
	bin, err := testcluster.Find("localcluster")
	if err != nil {
		return nil, err
	}
	return testcluster.Up(bin, filepath.Join(b.dir, name), io.Discard, flags...)
}

// file writes manifests for one run.
func (b *bench) file(name, text string) (string, error) {
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// timed runs a process and returns its duration.
func timed(command string, args ...string) (time.Duration, *exec.Cmd, error) {
	cmd := exec.Command(command, args...)
	d, err := timedCommand(cmd)
	return d, cmd, err
}

func timedCommand(cmd *exec.Cmd) (time.Duration, error) {
	var said strings.Builder
	cmd.Stderr = &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, said.String())
	}
	return time.Since(start), nil
}

// applyCommand returns the ordapply command line for a file and a cluster.
func applyCommand(cluster *testcluster.Cluster, file string, more ...string) (string, []string, error) {
	bin, err := testcluster.Find("ordapply")
	return bin, append([]string{"apply", "-f", file, "--kubeconfig", cluster.Kubeconfig}, more...), err
}

// peakMemory returns the largest resident memory of a process that has ended, in MiB.
func peakMemory(cmd *exec.Cmd) int64 {
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1024
	if runtime.GOOS == "darwin" {
		peak /= 1024
	}
	return peak
}

func configMaps(n int, namespace string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: %s}\ndata: {text: %q}\n---\n", i, namespace, strings.Repeat("x", 200))
	}
	return b.String()
}
