package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// peer is a program with one way to use it.
type peer struct {
	name    string // in tables
	program string // a key of the lab's programs
	// apply is used for the first apply, the no-op and the change.
	apply, delete func(t target) []string
	// prepare writes the files that the program needs beside the stream; nil: none.
	prepare func(t target) error
	// against is the way of ordapply that does the same work: with an apply set, or without.
	against string
}

const (
	floor = "floor"
	// marked is the floor with an annotation on each object, as ordapply needs it for the no-op.
	marked = "floor, annotated"
	plain  = "ordapply"
	set    = "ordapply, apply set"
)

// target is the place of one measurement, with the stream in a folder of its own.
type target struct{ kubeconfig, namespace, dir string }

func (t target) file() string { return filepath.Join(t.dir, "stream.yaml") }

func (t target) chart() string { return t.dir + "-chart" }

// allPeers returns each program at its defaults and, where its documentation has settings
// for speed, with them.
func allPeers() []peer {
	kapp := func(flags ...string) peer {
		return peer{
			program: "kapp", against: set,
			apply: func(t target) []string {
				return append([]string{"kapp", "deploy", "--yes", "--app=bench", "--namespace=" + t.namespace, "--kubeconfig=" + t.kubeconfig, "--file=" + t.file()}, flags...)
			},
			delete: func(t target) []string {
				return append([]string{"kapp", "delete", "--yes", "--app=bench", "--namespace=" + t.namespace, "--kubeconfig=" + t.kubeconfig}, flags...)
			},
		}
	}
	kapply := func(flags ...string) peer {
		return peer{
			program: "kapply", against: set, prepare: inventory,
			apply: func(t target) []string {
				return append([]string{"kapply", "apply", t.dir, "--kubeconfig=" + t.kubeconfig}, flags...)
			},
			delete: func(t target) []string { return []string{"kapply", "destroy", t.dir, "--kubeconfig=" + t.kubeconfig} },
		}
	}
	helm := func(flags ...string) peer {
		return peer{
			program: "helm", against: set, prepare: chart,
			apply: func(t target) []string {
				return append([]string{"helm", "upgrade", "--install", "bench", t.chart(), "--namespace=" + t.namespace, "--kubeconfig=" + t.kubeconfig}, flags...)
			},
			delete: func(t target) []string {
				return append([]string{"helm", "uninstall", "bench", "--namespace=" + t.namespace, "--kubeconfig=" + t.kubeconfig}, flags...)
			},
		}
	}
	kubectl := func(flags ...string) peer {
		return peer{
			program: "kubectl", against: plain,
			apply: func(t target) []string {
				return append([]string{"kubectl", "apply", "--kubeconfig=" + t.kubeconfig, "-f", t.file()}, flags...)
			},
			delete: func(t target) []string {
				return []string{"kubectl", "delete", "--kubeconfig=" + t.kubeconfig, "-f", t.file()}
			},
		}
	}
	named := func(name string, p peer) peer { p.name = name; return p }
	return []peer{
		{
			name: floor, program: "floor", against: plain,
			apply:  func(t target) []string { return []string{"floor", t.kubeconfig, t.file()} },
			delete: func(t target) []string { return []string{"floor", "-delete", t.kubeconfig, t.file()} },
		},
		{
			name: plain, program: "ordapply",
			apply: func(t target) []string {
				return []string{"ordapply", "apply", "--kubeconfig", t.kubeconfig, "-f", t.file()}
			},
			delete: func(t target) []string {
				return []string{"ordapply", "delete", "--kubeconfig", t.kubeconfig, "-f", t.file()}
			},
		},
		{
			name: set, program: "ordapply",
			apply: func(t target) []string {
				return []string{"ordapply", "apply", "--kubeconfig", t.kubeconfig, "--applyset", "bench", "-n", t.namespace, "--prune", "-f", t.file()}
			},
			delete: func(t target) []string {
				return []string{"ordapply", "delete", "--kubeconfig", t.kubeconfig, "--applyset", "bench", "-n", t.namespace}
			},
		},
		{
			name: marked, program: "floor", against: plain,
			apply:  func(t target) []string { return []string{"floor", "-annotate", t.kubeconfig, t.file()} },
			delete: func(t target) []string { return []string{"floor", "-delete", t.kubeconfig, t.file()} },
		},
		named("kubectl, server-side", kubectl("--server-side")),
		named("kubectl, client-side", kubectl()),
		named("kapp", kapp()),
		named("kapp, tuned", kapp("--apply-concurrency=50", "--apply-check-interval=50ms", "--wait-concurrency=50", "--wait-check-interval=100ms")),
		named("kapply", kapply()),
		named("kapply, server-side", kapply("--server-side")),
		named("Helm", helm()),
		named("Helm, tuned", helm("--qps=10000", "--burst-limit=10000")),
	}
}

// choosePeers returns the peers with these names; all if there are none.
func choosePeers(names ...string) []peer {
	return slices.DeleteFunc(allPeers(), func(p peer) bool { return len(names) > 0 && !slices.Contains(names, p.name) })
}

// commands returns the command lines of a peer for people.
func (p peer) commands() map[string]string {
	t := target{kubeconfig: "KUBECONFIG", namespace: "NS", dir: "DIR"}
	return map[string]string{"apply": strings.Join(p.apply(t), " "), "delete": strings.Join(p.delete(t), " ")}
}
