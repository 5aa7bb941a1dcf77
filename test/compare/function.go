package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const orderHead = `apiVersion: ordapply.dev/v1alpha1
kind: SortOrder
metadata:
  name: bench
`

const layers = `sortOrder:
- labelSelector: {matchLabels: {tier: front}}
`

// filter measures sortorder as a filter of a stream, of which every second document is
// placed.
func (l *lab) filter(size, rounds int) (Part, error) {
	part := Part{Work: "filter", Size: size}
	stream, file := filepath.Join(l.dir, "filter.yaml"), filepath.Join(l.dir, "order.yaml")
	if err := errors.Join(labelled(stream, size), os.WriteFile(file, []byte(orderHead+layers), 0o644)); err != nil {
		return part, err
	}
	for round := range rounds {
		s, err := l.run([]string{"sortorder", "--order", file}, stream)
		if err != nil {
			return part, err
		}
		s.Peer, s.Phase, s.Round = "sortorder", "filter", round
		part.Samples = append(part.Samples, s)
		l.log("filter of %d documents, round %d of %d: %s", size, round+1, rounds, shown(part.Samples[round:]))
	}
	return part, nil
}

// labelled writes documents, every second one with the label of a layer.
func labelled(file string, size int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for i := range size {
		tier := []string{"front", "none"}[i%2]
		fmt.Fprintf(out, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d\n  namespace: documents\n  labels: {tier: %s}\ndata: {key: value}\n", i, tier)
	}
	return errors.Join(out.Flush(), f.Close())
}

// builtWork is the work of kustomize builds.
const builtWork = "kustomize build"

// builds are the ways of a kustomize build: the programs of functions, by name.
func builds() []struct{ name, program, pkg string } {
	return []struct{ name, program, pkg string }{
		{"kustomize without a function", "", ""},
		{"sortorder", "sortorder", ""},
		{"a function on kyaml that does nothing", "kyaml", "./test/peers/kyamlnoop"},
		{"a function on the functions SDK that does nothing", "sdk", "./test/peers/sdknoop"},
	}
}

// kustomize measures a kustomize build with a function, started as a program.
func (l *lab) kustomize(size, rounds int) (Part, error) {
	part := Part{Work: builtWork, Size: size}
	dirs := map[string]string{}
	for i, b := range builds() {
		if b.pkg != "" {
			if err := l.build(b.program, ".", b.pkg); err != nil {
				return part, err
			}
		}
		dir := filepath.Join(l.dir, fmt.Sprint("kustomization-", size, "-", i))
		dirs[b.name] = dir
		if err := l.kustomization(dir, b.program, size); err != nil {
			return part, err
		}
	}
	for round := range rounds {
		for _, b := range builds() {
			s, err := l.run([]string{"kustomize", "build", "--enable-alpha-plugins", "--enable-exec", dirs[b.name]}, "")
			if err != nil {
				return part, err
			}
			s.Peer, s.Phase, s.Round = b.name, "build", round
			part.Samples = append(part.Samples, s)
		}
		l.log("kustomize build of %d documents, round %d of %d: %s", size, round+1, rounds, shown(part.Samples[len(part.Samples)-len(builds()):]))
	}
	return part, nil
}

// kustomization writes a kustomization with a program as function; "" for none.
func (l *lab) kustomization(dir, program string, size int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := "resources: [resources.yaml]\n"
	if program != "" {
		text += "transformers: [order.yaml]\n"
		run := fmt.Sprintf("  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: %s}\n", l.programs[program])
		if err := os.WriteFile(filepath.Join(dir, "order.yaml"), []byte(orderHead+run+layers), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(labelled(filepath.Join(dir, "resources.yaml"), size), os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644))
}
