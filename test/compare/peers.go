package main

import (
	"slices"
	"strings"

	"github.com/ordapply/ordapply/test/appliers"
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
type target = appliers.Target

// other returns another program, with flags.
func other(name, against string, a appliers.Applier, flags ...string) peer {
	return peer{
		name: name, program: a.Name, against: against, prepare: a.Prepare,
		apply:  func(t target) []string { return a.Apply(t, flags...) },
		delete: func(t target) []string { return a.Delete(t, flags...) },
	}
}

// allPeers returns each program at its defaults and, where its documentation has settings
// for speed, with them.
func allPeers() []peer {
	return []peer{
		{
			name: floor, program: "floor", against: plain,
			apply:  func(t target) []string { return []string{"floor", t.Kubeconfig, t.File()} },
			delete: func(t target) []string { return []string{"floor", "-delete", t.Kubeconfig, t.File()} },
		},
		{
			name: plain, program: "ordapply",
			apply: func(t target) []string {
				return []string{"ordapply", "apply", "--kubeconfig", t.Kubeconfig, "-f", t.File()}
			},
			delete: func(t target) []string {
				return []string{"ordapply", "delete", "--kubeconfig", t.Kubeconfig, "-f", t.File()}
			},
		},
		{
			name: set, program: "ordapply",
			apply: func(t target) []string {
				return []string{"ordapply", "apply", "--kubeconfig", t.Kubeconfig, "--applyset", "bench", "-n", t.Namespace, "--prune", "-f", t.File()}
			},
			delete: func(t target) []string {
				return []string{"ordapply", "delete", "--kubeconfig", t.Kubeconfig, "--applyset", "bench", "-n", t.Namespace}
			},
		},
		{
			name: marked, program: "floor", against: plain,
			apply:  func(t target) []string { return []string{"floor", "-annotate", t.Kubeconfig, t.File()} },
			delete: func(t target) []string { return []string{"floor", "-delete", t.Kubeconfig, t.File()} },
		},
		other("kubectl, server-side", plain, appliers.Kubectl(), "--server-side"),
		other("kubectl, client-side", plain, appliers.Kubectl()),
		other("kapp", set, appliers.Kapp()),
		other("kapp, tuned", set, appliers.Kapp(), "--apply-concurrency=50", "--apply-check-interval=50ms", "--wait-concurrency=50", "--wait-check-interval=100ms", "--kube-api-qps=10000", "--kube-api-burst=10000"),
		other("kapply", set, appliers.Kapply()),
		other("kapply, server-side", set, appliers.Kapply(), "--server-side"),
		other("Helm", set, appliers.Helm()),
		other("Helm, tuned", set, appliers.Helm(), "--qps=10000", "--burst-limit=10000"),
	}
}

// choosePeers returns the peers with these names; all if there are none.
func choosePeers(names ...string) []peer {
	return slices.DeleteFunc(allPeers(), func(p peer) bool { return len(names) > 0 && !slices.Contains(names, p.name) })
}

// peerNames returns the names of all peers.
func peerNames() []string {
	var names []string
	for _, p := range allPeers() {
		names = append(names, p.name)
	}
	return names
}

// commands returns the command lines of a peer for people.
func (p peer) commands() map[string]string {
	t := target{Kubeconfig: "KUBECONFIG", Namespace: "NS", Dir: "DIR"}
	return map[string]string{"apply": strings.Join(p.apply(t), " "), "delete": strings.Join(p.delete(t), " ")}
}
