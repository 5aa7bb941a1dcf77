// Package appliers has the programs that people use to apply a stream of manifests, other
// than ordapply: their command lines, and the files that they need beside the stream.
//
//	kapp := appliers.Kapp()
//	to := appliers.Target{Kubeconfig: kubeconfig, Namespace: "shop", Dir: dir} // with stream.yaml in dir
//	path, err := kapp.Find()
//	command := kapp.Apply(to) // kapp deploy …
package appliers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/test/testcluster"
)

// Applier is a program.
type Applier struct {
	Name string // the first word of its commands
	File string // that the Makefile builds in bin; "": kubectl, which is part of the control plane
	// Apply and Delete return command lines. flags are added to those that they are for.
	Apply, Delete func(to Target, flags ...string) []string
	// Prepare writes the files that the program needs beside the stream; nil: none.
	Prepare func(to Target) error
}

// Target is the place where a stream is applied.
type Target struct {
	Kubeconfig string
	Namespace  string // of the app, the inventory or the release; it exists
	Into       bool   // Namespace is also that of objects without one; otherwise it is the context's
	Dir        string // with stream.yaml and nothing else
}

// File returns the file of the stream.
func (to Target) File() string { return filepath.Join(to.Dir, "stream.yaml") }

// Chart returns the folder of the stream's chart, which lies beside the stream's.
func (to Target) Chart() string { return to.Dir + "-chart" }

// into returns -n if objects without a namespace go to that of the target.
func (to Target) into() []string {
	if !to.Into {
		return nil
	}
	return []string{"--namespace=" + to.Namespace}
}

// All returns all programs.
func All() []Applier { return []Applier{Kubectl(), Kapp(), Kapply(), Helm()} }

// name is that of the app or release.
const name = "bench"

// Kubectl returns kubectl.
func Kubectl() Applier {
	return Applier{
		Name: "kubectl",
		Apply: func(to Target, flags ...string) []string {
			return slices.Concat([]string{"kubectl", "apply", "--kubeconfig=" + to.Kubeconfig, "-f", to.File()}, to.into(), flags)
		},
		Delete: func(to Target, _ ...string) []string {
			return slices.Concat([]string{"kubectl", "delete", "--kubeconfig=" + to.Kubeconfig, "-f", to.File()}, to.into())
		},
	}
}

// Kapp returns kapp.
func Kapp() Applier {
	return Applier{
		Name: "kapp", File: "kapp",
		Apply: func(to Target, flags ...string) []string {
			return slices.Concat([]string{"kapp", "deploy", "--yes", "--app=" + name, "--namespace=" + to.Namespace, "--kubeconfig=" + to.Kubeconfig, "--file=" + to.File()}, flags)
		},
		Delete: func(to Target, flags ...string) []string {
			return slices.Concat([]string{"kapp", "delete", "--yes", "--app=" + name, "--namespace=" + to.Namespace, "--kubeconfig=" + to.Kubeconfig}, flags)
		},
	}
}

// Kapply returns the command of cli-utils, the engine of kpt live.
func Kapply() Applier {
	return Applier{
		Name: "kapply", File: "kapply", Prepare: writeInventory,
		Apply: func(to Target, flags ...string) []string {
			return slices.Concat([]string{"kapply", "apply", to.Dir, "--kubeconfig=" + to.Kubeconfig}, to.into(), flags)
		},
		Delete: func(to Target, _ ...string) []string {
			return slices.Concat([]string{"kapply", "destroy", to.Dir, "--kubeconfig=" + to.Kubeconfig}, to.into())
		},
	}
}

// Helm returns Helm, with the stream as a chart.
func Helm() Applier {
	return Applier{
		Name: "helm", File: "helm-referee", Prepare: writeChart,
		Apply: func(to Target, flags ...string) []string {
			return slices.Concat([]string{"helm", "upgrade", "--install", name, to.Chart(), "--namespace=" + to.Namespace, "--kubeconfig=" + to.Kubeconfig}, flags)
		},
		Delete: func(to Target, flags ...string) []string {
			return slices.Concat([]string{"helm", "uninstall", name, "--namespace=" + to.Namespace, "--kubeconfig=" + to.Kubeconfig}, flags)
		},
	}
}

// Find returns the path of the program. It returns an error if it is not built.
func (a Applier) Find() (string, error) {
	if a.File != "" {
		return testcluster.Find(a.File)
	}
	localcluster, err := testcluster.Find("localcluster")
	if err != nil {
		return "", err
	}
	out, err := run(localcluster, "build", "--print-dir")
	return filepath.Join(strings.TrimSpace(out), a.Name), err
}

func run(command ...string) (string, error) {
	out, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
	}
	return string(out), nil
}
