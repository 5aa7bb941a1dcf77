package main

import (
	"encoding/json"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// measureHere plans the manifests of a file in this process and prints the cost
// for the parent process.
func measureHere(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var manifests []map[string]any
	if err := json.Unmarshal(data, &manifests); err != nil {
		return err
	}
	resources := make([]ordering.Resource, len(manifests))
	for i, m := range manifests {
		resources[i] = ordering.Resource{Object: m, Meta: kube.Meta(&unstructured.Unstructured{Object: m})}
	}
	c, err := measure(func() (int, error) {
		plan, err := planner.Build(resources, ordering.Options{})
		if err != nil {
			return 0, err
		}
		edges := 0
		for _, s := range plan.Steps {
			edges += len(s.Needs)
		}
		return edges, nil
	})
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
