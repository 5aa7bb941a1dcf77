package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/measure"
	"github.com/ordapply/ordapply/test/testcluster"
)

// bench is one benchmark with its own folder and number of rounds.
type bench struct {
	dir    string
	rounds int
	up     []*testcluster.Cluster
}

// cluster starts a control plane for this benchmark, until its end.
func (b *bench) cluster(name string, flags ...string) (*testcluster.Cluster, error) {
	bin, err := testcluster.Find("localcluster")
	if err != nil {
		return nil, err
	}
	cluster, err := testcluster.Up(bin, filepath.Join(b.dir, name), io.Discard, flags...)
	if err == nil {
		b.up = append(b.up, cluster)
	}
	return cluster, err
}

// stop stops the control planes of the benchmark.
func (b *bench) stop() {
	for _, cluster := range b.up {
		_ = cluster.Down()
	}
	b.up = nil
}

// file writes manifests for one run.
func (b *bench) file(name, text string) (string, error) {
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// timed runs a process and returns its duration.
func timed(cmd *exec.Cmd) (time.Duration, error) {
	var output strings.Builder
	cmd.Stderr = &output
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, output.String())
	}
	return time.Since(start), nil
}

// apply applies a file with ordapply and returns the duration.
func apply(cluster *testcluster.Cluster, file string, flags ...string) (time.Duration, error) {
	d, _, err := applyWithMemory(cluster, file, flags...)
	return d, err
}

// applyWithMemory applies a file with ordapply. It returns the duration and the peak memory
// in MiB.
func applyWithMemory(cluster *testcluster.Cluster, file string, flags ...string) (time.Duration, int64, error) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(bin, append([]string{"apply", "-f", file, "--kubeconfig", cluster.Kubeconfig}, flags...)...)
	d, err := timed(cmd)
	if err != nil {
		return 0, 0, err
	}
	return d, peakMemory(cmd), nil
}

// peakMemory returns the largest resident memory of a process that has ended, in MiB.
func peakMemory(cmd *exec.Cmd) int64 { return int64(measure.Peak(cmd.ProcessState)) }

func configMaps(n int, namespace string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: %s}\ndata: {text: %q}\n---\n", i, namespace, strings.Repeat("x", 200))
	}
	return b.String()
}
