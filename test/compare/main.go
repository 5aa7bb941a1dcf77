// Command compare measures ordapply beside the programs that people would use instead, on
// the same control planes in the same run, and writes docs/benchmarks.md.
//
//	go run ./test/compare run    # measures, into bin/compare/results.json
//	go run ./test/compare page   # writes docs/benchmarks.md and its pictures from the results
//	go run ./test/compare check  # compares the results with the limits
//
// The environment chooses a part, which replaces that part of the results:
//
//	WORK=objects,far,scale,move,plan,filter,kustomize,graphs,programs,tries
//	SIZES=100,1000 DELAYS=5ms ROUNDS=3 PEERS="kapp;Helm"
//	TRY="flux vault" SHUFFLES=10  # the streams of tries and programs, and in how many orders
package main

import (
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

const resultsFile = "bin/compare/results.json"

func main() {
	command := ""
	if len(os.Args) == 2 {
		command = os.Args[1]
	}
	results, err := load(resultsFile)
	if err == nil {
		switch command {
		case "run":
			err = run(&results, os.Stderr)
		case "page":
			err = writePage(results, "docs")
		case "check":
			err = printChecks(os.Stdout, results)
		default:
			err = errors.New("say run, page or check")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
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
	chosen, err := chosen()
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
	for _, part := range chosen {
		begin := time.Now()
		measured, err := part(l)
		if len(measured.Samples)+len(measured.Tries) > 0 { // also of a part that ended early
			measured.Taken = taken
			results.add(measured)
			err = errors.Join(err, results.save(resultsFile))
		}
		if err != nil {
			return err
		}
		l.log("%s took %s", measured.title(), time.Since(begin).Round(time.Second))
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
	return fmt.Sprintf("%s, %d cores, %s of memory, %s/%s", fact("/proc/cpuinfo", "model name"), runtime.NumCPU(), memory(), runtime.GOOS, runtime.GOARCH)
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
