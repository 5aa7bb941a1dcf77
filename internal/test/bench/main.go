// Command bench measures ordapply against its targets, as ratios of whole
// processes measured in the same run, interleaved, so that a busy machine slows
// both sides equally.
//
//	go run ./internal/test/bench first-apply   # 1,000 ConfigMaps against a bare loop of 32 PATCHes
//	go run ./internal/test/bench chain         # 20 gated Deployments against the sum of their own ready times
//	go run ./internal/test/bench ordering      # kube-prometheus with and without --ordering
//	go run ./internal/test/bench crds          # CRDs that exist already
//	go run ./internal/test/bench no-op         # 1,000 unchanged ConfigMaps against kapp
//	go run ./internal/test/bench memory        # peak memory for 5,000 Deployments of 4 KB
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

	"github.com/ordapply/ordapply/internal/test/testcluster"
)

func main() {
	rounds := flag.Int("rounds", 15, "how many pairs to measure")
	flag.Parse()
	benches := map[string]func(*bench) error{
		"first-apply": firstApply,
		"chain":       chain,
		"ordering":    orderingOnOff,
		"crds":        existingCRDs,
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

// bench is one benchmark with its own folder and number of rounds.
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

// timed runs a process and returns its duration.
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

// applyCommand returns the ordapply command line for a file and a cluster.
func applyCommand(cluster *testcluster.Cluster, file string, more ...string) (string, []string, error) {
	bin, err := testcluster.Find("ordapply")
	return bin, append([]string{"apply", "-f", file, "--kubeconfig", cluster.Kubeconfig}, more...), err
}
