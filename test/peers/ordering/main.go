// Ordering plans a stream as two other tools do and prints the cost: kapp by
// its change graph, with its default rules, and cli-utils, the engine of `kpt
// live`, by its graph sort. test/peers/orderbench compares them with ours.
//
//	ordering kapp manifests.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ordering:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: ordering kapp|cli-utils FILE, a JSON list of manifests")
	}
	prepare, ok := map[string]planner{"kapp": kapp, "cli-utils": cliUtils}[args[0]]
	if !ok {
		return fmt.Errorf("%q is neither kapp nor cli-utils", args[0])
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	var manifests []map[string]any
	if err := json.Unmarshal(data, &manifests); err != nil {
		return err
	}
	plan, err := prepare(manifests)
	if err != nil {
		return err
	}
	c, err := measure(plan)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// cost is the cost of planning once.
type cost struct {
	Wall, CPU float64 // seconds
	Peak      float64 // MB of the whole process, including the manifests
	Edges     int     // in the plan
}

func measure(plan func() (int, error)) (cost, error) {
	debug.FreeOSMemory()
	start := time.Now()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return cost{}, err
	}
	edges, err := plan()
	if err != nil {
		return cost{}, err
	}
	wall := time.Since(start)
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		return cost{}, err
	}
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	return cost{Wall: wall.Seconds(), CPU: time.Duration(cpu).Seconds(), Peak: float64(after.Maxrss) / 1024, Edges: edges}, nil
}
