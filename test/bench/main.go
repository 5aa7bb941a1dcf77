// Command bench measures ordapply against its targets, as ratios of whole
// processes measured in the same run, interleaved, so that a busy machine slows
// both sides equally.
//
//	go run ./test/bench first-apply   # 1,000 ConfigMaps against a bare loop of 32 PATCHes
//	go run ./test/bench chain         # 20 gated Deployments against the sum of their own ready times
//	go run ./test/bench ordering      # kube-prometheus with and without --ordering
//	go run ./test/bench crds          # CRDs that exist already
//	go run ./test/bench no-op         # 1,000 unchanged ConfigMaps against kapp
//	go run ./test/bench memory        # peak memory for 5,000 Deployments of 4 KB
//	go run ./test/bench documents     # 100,000 documents through sortorder
//	go run ./test/bench fleet         # 25 to 200 clusters of a fleet: time and peak memory
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/ordapply/ordapply/test/corpora"
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
		"documents":   documents,
		"fleet":       fleet,
	}
	for _, name := range flag.Args() {
		run, ok := benches[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "bench: no benchmark is called %q\n", name)
			os.Exit(2)
		}
		switch err := single(run, *rounds); {
		case errors.Is(err, corpora.ErrUnset):
			fmt.Fprintf(os.Stderr, "bench %s is skipped: %v\n", name, err)
		case err != nil:
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func single(run func(*bench) error, rounds int) error {
	dir, err := os.MkdirTemp("", "ordapply-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, rounds: rounds}
	defer b.stop()
	return run(b)
}
