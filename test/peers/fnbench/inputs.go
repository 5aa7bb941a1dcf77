package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/test/corpora"
)

const config = `functionConfig:
  apiVersion: ordapply.dev/v1alpha1
  kind: SortOrder
  metadata:
    name: platform
  sortOrder:
  - matchAnnotations: {tier: data}
    layer: data
  - labelSelector: {matchLabels: {app: web}}
    layer: web
  - kind: Deployment
    layer: apps
`

// inputs writes the ResourceLists to measure: generated ones, the largest real
// stream, and one that kustomize passed to a function.
func inputs(dir, bin string) error {
	for _, n := range []int{1_000, 5_000, 20_000} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("made-%05d", n)), made(n), 0o644); err != nil {
			return err
		}
	}
	streams, err := corpora.Dir()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fnbench: real streams are left out:", err)
		return nil
	}
	largest, err := largestStream(streams)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "largest-corpus"), largest, 0o644); err != nil {
		return err
	}
	if err := dump(filepath.Join(dir, "from-kustomize"), filepath.Join(streams, "rook-ceph.yaml"), bin); err != nil {
		fmt.Fprintln(os.Stderr, "fnbench: a list of kustomize is left out:", err)
	}
	return nil
}

// made returns a ResourceList of n small resources of three kinds.
func made(n int) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for i := range n {
		meta := fmt.Sprintf("  metadata:\n    annotations:\n      config.kubernetes.io/index: '%d'\n      internal.config.kubernetes.io/index: '%d'\n"+
			"    labels:\n      app: app-%d\n    name: object-%05d\n    namespace: ns-%d\n", i, i, i%50, i, i%20)
		switch i % 3 {
		case 0:
			b.WriteString("- apiVersion: apps/v1\n  kind: Deployment\n" + meta + "  spec:\n    replicas: 1\n    selector:\n      matchLabels:\n        app: x\n" +
				"    template:\n      metadata:\n        labels:\n          app: x\n      spec:\n        containers:\n        - image: registry/x:1\n          name: x\n")
		case 1:
			b.WriteString("- apiVersion: v1\n  kind: Service\n" + meta + "  spec:\n    ports:\n    - port: 80\n      targetPort: 8080\n    selector:\n      app: x\n")
		case 2:
			b.WriteString("- apiVersion: v1\n  data:\n    a: one\n    b: two\n  kind: ConfigMap\n" + meta)
		}
	}
	b.WriteString(config)
	return b.Bytes()
}

// largestStream returns the largest real stream as a ResourceList.
func largestStream(folder string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var largest []byte
	for _, file := range files {
		stream, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if len(stream) > len(largest) {
			largest = stream
		}
	}
	if largest == nil {
		return nil, fmt.Errorf("no streams in %s", folder)
	}
	exploded := fn.Strip(largest) // a ResourceList contains no Lists
	if exploded.Findings.Failed() {
		return nil, errors.New(exploded.Findings.Lines())
	}
	return wrap(string(exploded.Stream())), nil
}

// wrap converts documents to items.
func wrap(stream string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for document := range strings.SplitSeq(stream, "\n---\n") {
		if !strings.Contains(document, "apiVersion:") {
			continue
		}
		prefix := "- "
		for line := range strings.SplitSeq(strings.TrimSuffix(document, "\n"), "\n") {
			b.WriteString(strings.TrimRight(prefix+line, " ") + "\n")
			prefix = "  "
		}
	}
	b.WriteString(config)
	return []byte(b.String())
}

// dump runs a kustomize build with a function that saves its input, and adds
// our configuration to that input.
func dump(to, stream, bin string) error {
	dir, err := os.MkdirTemp("", "fnbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := os.ReadFile(stream)
	if err != nil {
		return err
	}
	for name, body := range map[string]string{
		"resources.yaml":     string(text),
		"kustomization.yaml": "resources: [resources.yaml]\ntransformers: [keep.yaml]\n",
		"keep.yaml":          "apiVersion: x/v1\nkind: Keep\nmetadata:\n  name: keep\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./keep}\n",
		"keep":               "#!/bin/sh\ntee " + to + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			return err
		}
	}
	kustomize, err := filepath.Abs(filepath.Join(bin, "kustomize"))
	if err != nil {
		return err
	}
	cmd := exec.Command(kustomize, "build", "--enable-alpha-plugins", "--enable-exec", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	kept, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	before, _, found := bytes.Cut(kept, []byte("\nfunctionConfig:\n"))
	if !found {
		return fmt.Errorf("kustomize gave no functionConfig")
	}
	return os.WriteFile(to, append(append(before, '\n'), config...), 0o644)
}
