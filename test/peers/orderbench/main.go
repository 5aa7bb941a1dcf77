// Orderbench measures planning without a cluster: ours next to kapp's change
// graph and the graph sort of cli-utils, the engine of `kpt live`, on the same
// manifests in the same run. Each measurement is its own process, interleaved.
// It prints medians by CPU time, which a busy machine affects least and which
// exceeds the wall time on an idle one. The peers read the depends-on
// annotations, the CRD and the Namespaces, kapp by its default rules; ours also
// reads the references of Pod templates and the stamped layers.
//
//	go run ./test/peers/orderbench -bin bin
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/test/bigstream"
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds of which the median is printed")
	sizes := flag.String("sizes", "1000,4000,10000", "numbers of resources at which all are measured")
	large := flag.Int("large", 50_000, "number of resources at which ours alone is measured; 0: none")
	bin := flag.String("bin", "bin", "where the peers are built")
	only := flag.String("only", "", "order the manifests of this file once, by ours, in this process")
	flag.Parse()
	var err error
	if *only != "" {
		err = measureHere(*only)
	} else {
		err = compare(*bin, *rounds, *sizes, *large)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "orderbench:", err)
		os.Exit(1)
	}
}

func compare(bin string, rounds int, sizes string, large int) error {
	peer, err := filepath.Abs(filepath.Join(bin, "peer-ordering"))
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", peer, ".")
	build.Dir, build.Stderr = filepath.Join("test", "peers", "ordering"), os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the peers: %w", err)
	}
	dir, err := os.MkdirTemp("", "orderbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := bench{peer: peer, dir: dir, rounds: rounds}
	fmt.Printf("%-7s %-10s %9s %9s %9s %10s   %s\n", "size", "what", "wall s", "CPU s", "peak MB", "edges", "CPU against ours")
	for size := range strings.SplitSeq(sizes, ",") {
		if err := b.compareAt(size); err != nil {
			return err
		}
	}
	if large == 0 {
		return nil
	}
	return b.limits(strconv.Itoa(large))
}

// bench measures with the binary of the peers, in a folder for manifests.
type bench struct {
	peer, dir string
	rounds    int
}

func (b bench) compareAt(size string) error {
	names := []string{"ours", "cli-utils", "kapp"}
	costs, err := b.measureAll(size, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		ratio := ""
		if name != "ours" {
			ratio = fmt.Sprintf("%.0fx", costs[name].CPU/costs["ours"].CPU)
		}
		costs[name].print(size, name, ratio)
	}
	return nil
}

// limits compares ours with its limits.
func (b bench) limits(size string) error {
	costs, err := b.measureAll(size, []string{"ours"})
	if err != nil {
		return err
	}
	c := costs["ours"]
	verdict := "kept"
	if c.CPU >= 1 || c.Peak >= 500 {
		verdict = "NOT KEPT"
	}
	c.print(size, "ours", "limit 1 s and 500 MB: "+verdict)
	return nil
}

func (c cost) print(size, name, remark string) {
	fmt.Printf("%-8s %-10s %9.3f %9.3f %9.0f %9d   %s\n", size, name, c.Wall, c.CPU, c.Peak, c.Edges, remark)
}

// measureAll measures planners alternately, each in its own process, and
// returns the medians. One that takes longer than slow is measured once.
func (b bench) measureAll(size string, names []string) (map[string]cost, error) {
	const slow = 20 // seconds
	file, err := b.manifests(size)
	if err != nil {
		return nil, err
	}
	all := map[string][]cost{}
	for range b.rounds {
		for _, name := range names {
			if taken := all[name]; len(taken) > 0 && taken[0].CPU > slow {
				continue
			}
			c, err := b.inChild(name, file)
			if err != nil {
				return nil, fmt.Errorf("%s with %s resources: %w", name, size, err)
			}
			all[name] = append(all[name], c)
		}
	}
	medians := map[string]cost{}
	for name, taken := range all {
		slices.SortFunc(taken, func(a, b cost) int { return cmp.Compare(a.CPU, b.CPU) })
		medians[name] = taken[len(taken)/2]
	}
	return medians, nil
}

// manifests writes a stream of a size and returns its file.
func (b bench) manifests(size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(bigstream.Applications(n))
	if err != nil {
		return "", err
	}
	file := filepath.Join(b.dir, size+".json")
	return file, os.WriteFile(file, data, 0o600)
}

func (b bench) inChild(name, file string) (c cost, err error) {
	program, args := b.peer, []string{name, file}
	if name == "ours" {
		if program, err = os.Executable(); err != nil {
			return c, err
		}
		args = []string{"-only", file}
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(out, &c)
}
