// Fnbench measures the function as a process, next to no-op functions built on
// kyaml and on the KRM functions SDK, in the same run: CPU time, wall time and
// peak memory, as medians of several rounds.
//
//	ORDAPPLY_CORPORA=FOLDER go run ./test/peers/fnbench -bin bin
//
// Without that folder of real streams only made ones are measured.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	bin := flag.String("bin", "bin", "where kustomize is, and where the functions are built")
	rounds := flag.Int("rounds", 5, "rounds of which the median is printed")
	only := flag.String("inputs", "", "only write the inputs, into this folder")
	flag.Parse()
	var err error
	if *only != "" {
		err = inputs(*only, *bin)
	} else {
		err = run(*bin, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fnbench:", err)
		os.Exit(1)
	}
}

func run(bin string, rounds int) error {
	functions, err := build(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fnbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := inputsByChild(dir, bin)
	if err != nil {
		return err
	}
	fmt.Printf("%-18s %-7s %9s %9s %9s   %s\n", "input", "what", "CPU ms", "wall ms", "peak MB", "CPU and memory against ours")
	ours := map[string]cost{}
	for _, file := range files {
		name := filepath.Base(file)
		if ours[name], err = compare(file, functions, rounds); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	few, many := ours["made-05000"], ours["made-20000"]
	fmt.Printf("ours, 20,000 items against 5,000: %.1fx CPU, %.1fx memory; linear is 4x\n", many.cpu/few.cpu, many.peak/few.peak)
	return nil
}

// inputsByChild writes the inputs in a child process. Linux counts a parent's
// peak memory as its children's, so the parent must stay small.
func inputsByChild(dir, bin string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-inputs", dir, "-bin", bin)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("make the inputs: %w", err)
	}
	return filepath.Glob(filepath.Join(dir, "*"))
}

// compare prints a line for each function with one input, and returns our cost.
func compare(file string, functions []function, rounds int) (cost, error) {
	taken := make([][]cost, len(functions))
	for range rounds {
		for i, f := range functions { // interleaved, so that a busy machine affects all
			c, err := f.measure(file)
			if err != nil {
				return cost{}, err
			}
			taken[i] = append(taken[i], c)
		}
	}
	ours := median(taken[0])
	for i, f := range functions {
		c := median(taken[i])
		ratio := ""
		if i > 0 {
			ratio = fmt.Sprintf("%.1fx CPU, %.1fx memory", c.cpu/ours.cpu, c.peak/ours.peak)
		}
		fmt.Printf("%-18s %-7s %9.0f %9.0f %9.0f   %s\n", filepath.Base(file), f.name, c.cpu, c.wall, c.peak, ratio)
	}
	return ours, nil
}
