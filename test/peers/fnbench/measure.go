package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// function is a program that reads and writes a ResourceList.
type function struct{ name, path string }

// build builds the functions; ours is the first.
func build(bin string) ([]function, error) {
	functions := []function{{name: "ours"}, {name: "kyaml"}, {name: "SDK"}}
	for i, pkg := range []string{"./cmd/sortorder", "./test/peers/kyamlnoop", "./test/peers/sdknoop"} {
		path, err := filepath.Abs(filepath.Join(bin, "bench-"+filepath.Base(pkg)))
		if err != nil {
			return nil, err
		}
		if out, err := exec.Command("go", "build", "-trimpath", "-o", path, pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
		functions[i].path = path
	}
	return functions, nil
}

// cost is the cost of one process.
type cost struct {
	cpu, wall float64 // milliseconds
	peak      float64 // MiB
}

func (f function) measure(file string) (cost, error) {
	in, err := os.Open(file)
	if err != nil {
		return cost{}, err
	}
	defer in.Close()
	var stderr bytes.Buffer
	cmd := exec.Command(f.path)
	cmd.Stdin, cmd.Stderr = in, &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w: %s", f.name, err, stderr.Bytes())
	}
	wall := time.Since(start)
	state := cmd.ProcessState
	usage := state.SysUsage().(*syscall.Rusage)
	return cost{
		cpu:  float64((state.UserTime() + state.SystemTime()).Microseconds()) / 1000,
		wall: float64(wall.Microseconds()) / 1000,
		peak: float64(usage.Maxrss) / 1024,
	}, nil
}

// median returns the median of each measure separately.
func median(all []cost) cost {
	middle := func(of func(cost) float64) float64 {
		values := make([]float64, len(all))
		for i, c := range all {
			values[i] = of(c)
		}
		slices.SortFunc(values, cmp.Compare[float64])
		return values[len(values)/2]
	}
	return cost{
		cpu:  middle(func(c cost) float64 { return c.cpu }),
		wall: middle(func(c cost) float64 { return c.wall }),
		peak: middle(func(c cost) float64 { return c.peak }),
	}
}
