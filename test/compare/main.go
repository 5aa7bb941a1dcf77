// Command compare measures ordapply beside the programs that people would use instead, on
// the same control planes in the same run, and writes docs/benchmarks.md.
//
//	go run ./test/compare run                # measures, into docs/benchmarks/results.json
//	go run ./test/compare page               # writes docs/benchmarks.md and its pictures from the results, beside those of another day in docs/benchmarks/repeated.json; with RESULTS into the folder of FILE
//	go run ./test/compare check              # compares the results with the limits
//	go run ./test/compare repeat OTHER.json  # compares the results with those of another run
//
// The environment chooses a part, which replaces that part of the results. Fewer rounds do
// not replace more.
//
//	WORK=objects,far,scale,move,plan,filter,kustomize,graphs,programs,streams,tries,engines
//	SIZES=100,1000 DELAYS=5ms ROUNDS=3 PEERS="kapp;Helm"
//	TRY="flux vault" SHUFFLES=10  # the streams and programs, and in how many orders they are tried
//	TOOLS=kapp,helm TOOL_TRIES=3  # the other programs that are tried, and in how many of the orders
//	AS=FILE                       # instead: the parts of other results, with their programs and in as many rounds; WORK chooses among them
//	RESUME=1                      # leaves out what the results have in as many rounds, except programs, streams and engines
//	RESULTS=FILE                  # other results
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// ownResults is the file of the results of the page in the repository.
var ownResults = filepath.Join("docs", "benchmarks", "results.json")

// resultsFile returns the file of the results.
func resultsFile() string { return filepath.Clean(cmp.Or(os.Getenv("RESULTS"), ownResults)) }

// pageFolder returns the folder of the page: that of other results is theirs.
func pageFolder() string {
	if file := resultsFile(); file != ownResults {
		return filepath.Dir(file)
	}
	return "docs"
}

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	results, err := load(resultsFile())
	if err != nil {
		return err
	}
	if len(args) == 1 && args[0] == "run" {
		return run(&results, os.Stderr)
	}
	if len(results.Parts) == 0 {
		return fmt.Errorf("%s has no results: run make compare, or name a file with RESULTS", resultsFile())
	}
	switch {
	case len(args) == 1 && args[0] == "page":
		return writePage(results, pageFolder())
	case len(args) == 1 && args[0] == "check":
		return printChecks(os.Stdout, results)
	case len(args) == 2 && args[0] == "repeat" && args[1] == "":
		return errors.New("name the results of the other run: make compare-repeat OTHER=FILE")
	case len(args) == 2 && args[0] == "repeat":
		other, err := load(args[1])
		if err == nil && len(other.Parts) == 0 {
			err = fmt.Errorf("%s has no results", args[1])
		}
		if err != nil {
			return err
		}
		return printRepeat(os.Stdout, other, results)
	}
	return errors.New("say run, page, check or repeat OTHER.json")
}

// run measures the chosen work, and saves the results after each part.
func run(results *Results, progress io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "ordapply-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := openLab(dir, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := results.onOneMachine(machine(), everything()); err != nil {
		return err
	}
	chosen, err := chosen(*results)
	if err != nil {
		return err
	}
	if err := results.describeAll(l); err != nil {
		return err
	}
	taken, err := l.here()
	if err != nil {
		return err
	}
	for _, m := range chosen {
		begin := time.Now()
		measured, err := m.take(l)
		for _, part := range measured {
			if len(part.Samples)+len(part.Tries) > 0 { // also of a part that ended early
				part.Taken = taken
				err = errors.Join(err, results.add(part))
			}
		}
		if err = errors.Join(err, results.save(resultsFile())); err != nil {
			return err
		}
		l.log("%s took %s", m.of.title(), time.Since(begin).Round(time.Second))
		select {
		case s := <-l.stop:
			return fmt.Errorf("stopped: %s; RESUME=1 measures what is left", s)
		default:
		}
	}
	return nil
}

// describeAll stores the versions and command lines of the peers.
func (r *Results) describeAll(l *lab) error {
	for _, p := range allPeers() {
		version, err := l.version(p.program)
		if err != nil {
			return err
		}
		r.describe(Described{Name: p.name, Version: version, Apply: p.commands()["apply"], Delete: p.commands()["delete"]})
	}
	built, err := enginesAreBuilt()
	if err != nil {
		return err
	}
	for _, e := range engines() {
		described, err := e.describe(built)
		if err != nil {
			return err
		}
		r.describe(described)
	}
	return nil
}

// here says when and where the run is.
func (l *lab) here() (Taken, error) {
	commit, err := exec.Command("git", "describe", "--always", "--dirty=+", "--abbrev=10", "--match=").Output()
	if err != nil {
		return Taken{}, fmt.Errorf("git describe: %w", err)
	}
	kubernetes, err := l.version("kubectl")
	return Taken{
		Date: time.Now().UTC().Format(time.DateOnly), Commit: strings.TrimSpace(string(commit)),
		Machine: machine(), Kubernetes: kubernetes,
	}, err
}

// machine describes this machine.
func machine() string {
	return fmt.Sprintf("%s, %d cores, %s of memory, %s/%s", processor(cpuinfo), runtime.NumCPU(), memory(), runtime.GOOS, runtime.GOARCH)
}

const cpuinfo = "/proc/cpuinfo"

// processor names a CPU with its family and model, where it has them: clouds call several generations, of
// which one takes half the time of another, by the same name.
func processor(file string) string {
	name, family, model := fact(file, "model name"), fact(file, "cpu family"), fact(file, "model")
	if strings.HasPrefix(family, "unknown") {
		return name
	}
	return fmt.Sprintf("%s (family %s, model %s)", name, family, model)
}

func memory() string {
	kib, err := strconv.Atoi(strings.TrimSuffix(fact("/proc/meminfo", "MemTotal"), " kB"))
	if err != nil {
		return "an unknown amount"
	}
	return fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
}

// fact returns the value of a line "NAME: VALUE" in a file of /proc.
func fact(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown " + filepath.Base(file)
}
