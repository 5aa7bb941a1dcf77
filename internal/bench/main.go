// Command bench measures ordapply against what it is held to, as ratios of
// whole processes taken in one run, interleaved, so that a busy machine slows
// both sides alike.
//
//	go run ./internal/bench first-apply   # 1,000 ConfigMaps against a bare loop of 32 PATCHes
//	go run ./internal/bench chain         # 20 gated Deployments against the sum of their own ready times
//	go run ./internal/bench ordering      # kube-prometheus with and without --ordering
//	go run ./internal/bench crds          # CRDs that are there already
//	go run ./internal/bench no-op         # 1,000 unchanged ConfigMaps against kapp
//	go run ./internal/bench memory        # peak memory for 5,000 Deployments of 4 KB
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/testcluster"
)

func main() {
	rounds := flag.Int("rounds", 15, "how many pairs to measure")
	flag.Parse()
	benches := map[string]func(*bench) error{
		"first-apply": firstApply,
		"chain":       chain,
		"ordering":    orderingOnOff,
		"crds":        crdsThere,
		"no-op":       noOp,
		"memory":      memory,
	}
	for _, name := range flag.Args() {
		run, ok := benches[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "bench: no benchmark is called %q\n", name)
			os.Exit(2)
		}
		if err := measure(run, *rounds); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// bench is one benchmark: a folder of its own, and how many rounds to run.
type bench struct {
	dir    string
	rounds int
}

func measure(run func(*bench) error, rounds int) error {
	dir, err := os.MkdirTemp("", "ordapply-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return run(&bench{dir: dir, rounds: rounds})
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

// timed runs a whole process and says how long it took.
func timed(command string, args ...string) (time.Duration, *exec.Cmd, error) {
	cmd := exec.Command(command, args...)
	var said strings.Builder
	cmd.Stderr = &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, cmd, fmt.Errorf("%s: %w\n%s", filepath.Base(command), err, said.String())
	}
	return time.Since(start), cmd, nil
}

// applyCommand is the ordapply command line for a file on a cluster.
func applyCommand(cluster *testcluster.Cluster, file string, more ...string) (string, []string, error) {
	bin, err := testcluster.Find("ordapply")
	return bin, append([]string{"apply", "-f", file, "--kubeconfig", cluster.Kubeconfig}, more...), err
}
