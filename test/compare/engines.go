package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// engine is a controller that applies a tree which `ordapply export` has made.
type engine struct{ name, module, goMod, apply string }

func engines() []engine {
	return []engine{
		{"Flux", "github.com/fluxcd/kustomize-controller", "test/engines/flux/go.mod", "kustomize-controller, of the tree of ordapply export --to flux"},
		{"Argo CD", "github.com/argoproj/argo-cd/v3", "test/engines/argocd/go.mod", "application-controller, of the tree of ordapply export --to argocd"},
	}
}

// leftOut is the version of a program that is not measured.
const leftOut = "not built here: left out"

// describe returns the version that the tests of the engine pin.
func (e engine) describe(built bool) (Described, error) {
	text, err := os.ReadFile(e.goMod)
	if err != nil {
		return Described{}, err
	}
	found := regexp.MustCompile(`(?m)^(?:require)?\s+` + regexp.QuoteMeta(e.module) + ` (v\S+)`).FindStringSubmatch(string(text))
	if found == nil {
		return Described{}, fmt.Errorf("%s requires no %s", e.goMod, e.module)
	}
	d := Described{Name: e.name, Version: found[1], Apply: e.apply}
	if !built {
		d.Version = leftOut
	}
	return d, nil
}

// enginesAreBuilt reports whether make engines has built the controllers.
func enginesAreBuilt() (bool, error) {
	out, err := exec.Command("go", "-C", "test/engines", "run", "./build", "-check").CombinedOutput()
	if err != nil && !strings.Contains(string(out), "not built") {
		return false, fmt.Errorf("look for Flux and Argo CD: %w\n%s", err, out)
	}
	return err == nil, nil
}

// engines runs the measurement of test/engines in rounds, and returns a part for each stream;
// none where the controllers are not built.
func (l *lab) engines(rounds int) ([]Part, error) {
	built, err := enginesAreBuilt()
	if err != nil {
		return nil, err
	}
	if !built {
		l.log("Flux and Argo CD are not built here, and left out: make engines builds them")
		return nil, nil
	}
	cmd := exec.Command("go", "-C", "test/engines", "test", "-run", "^TestWallTime$", "-count="+strconv.Itoa(rounds), "-v", "-timeout", "6h", ".")
	cmd.Env = append(os.Environ(), "ORDAPPLY_ENGINES=all", "ORDAPPLY_BIN="+filepath.Dir(l.programs["ordapply"]))
	out, failed := cmd.CombinedOutput() // also if an engine fails
	parts, err := engineTimes(string(out))
	if err == nil && len(parts) == 0 {
		err = fmt.Errorf("measure test/engines: %w\n%s", failed, out)
	}
	return parts, err
}

// engineTimes reads the times that TestWallTime of test/engines logs: a part for each stream, a
// round for each time of an engine.
func engineTimes(output string) ([]Part, error) {
	const test = "TestWallTime/"
	took := regexp.MustCompile(`; (\S+) from the first write to the last`)
	ended := regexp.MustCompile(`^\s*--- FAIL: (` + test + `\S+)`)
	name := ""
	var parts []Part
	for text := range strings.Lines(output) {
		if words := strings.Fields(text); len(words) == 3 && words[0] == "===" {
			name = words[2]
		}
		var s Sample
		of := name
		if found := took.FindStringSubmatch(text); found != nil {
			wall, err := time.ParseDuration(found[1])
			if err != nil {
				return nil, err
			}
			s = Sample{Wall: wall.Seconds()}
		} else if found := ended.FindStringSubmatch(text); found != nil {
			of, s = found[1], Sample{Failed: "the test of test/engines failed"}
		} else {
			continue
		}
		stream, peer := path.Split(strings.TrimPrefix(of, test)) // "examples/shop/Argo_CD"
		peer = strings.ReplaceAll(peer, "_", " ")
		known := peer == plain || slices.ContainsFunc(engines(), func(e engine) bool { return e.name == peer })
		if known && strings.HasPrefix(of, test) {
			s.Peer, s.Phase = peer, "ready"
			parts = withSample(parts, Part{Work: "engines", Name: strings.TrimSuffix(stream, "/")}, s)
		}
	}
	return parts, nil
}

// writeEngines prints how long Flux and Argo CD take, beside ordapply.
func writeEngines(b *strings.Builder, r Results, _ map[string]string) {
	parts := r.of("engines")
	missing := slices.ContainsFunc(r.Peers, func(d Described) bool { return d.Name == engines()[0].name && d.Version == leftOut })
	if len(parts) == 0 && !missing {
		return
	}
	b.WriteString("## Flux and Argo CD\n\nThe controllers themselves apply [trees that `ordapply export` made](../test/engines/README.md), each on an empty control plane, in an order that the audit log proves: of Flux its kustomize-controller, of Argo CD its application-controller. " +
		"They poll; Flux checks a dependency again after one second instead of 30, Argo CD waits one second between waves instead of two and compares every 10 s. " +
		"Seconds from the first write to the last resource that is ready, which is less than the whole command of ordapply:\n\n")
	if len(parts) == 0 {
		b.WriteString("Not built here: left out. `make engines` builds them.\n\n")
		return
	}
	head := []string{"", plain}
	for _, e := range engines() {
		head = append(head, e.name)
	}
	var rows [][]string
	for _, p := range parts {
		row := []string{p.Name}
		for _, name := range head[1:] {
			row = append(row, p.cell(name, "ready", wall, 1))
		}
		rows = append(rows, row)
	}
	table(b, head, rows)
}

// withSample adds a sample to the part of the same work, which may be new. Its round is the
// number of samples that the part has of this peer and phase.
func withSample(parts []Part, of Part, s Sample) []Part {
	at := slices.IndexFunc(parts, of.same)
	if at < 0 {
		parts, at = append(parts, of), len(parts)
	}
	for _, other := range parts[at].Samples {
		if other.Peer == s.Peer && other.Phase == s.Phase {
			s.Round++
		}
	}
	parts[at].Samples = append(parts[at].Samples, s)
	return parts
}
