// Package unkind holds the installs of programs whose Pods need more than to be started: a
// webhook configuration that exists, a Secret that a Job fills, another program. testdata
// has a stream for each, which models the program's manifests, and the prerequisites of its
// readiness by the annotations of localcluster; the comment at its top names the source.
// The tests apply each at the first try, as it is written and shuffled; `make first-try`
// compares them with kubectl.
//
// Where a program also serves an API, as a webhook or an aggregated API, a stand-in
// answers for its ready Pods (test/standin).
//
//	for _, program := range unkind.Programs() {
//		cluster, err := testcluster.Up(bin, dir, progress, "--pod-proxy", socket)
//		ca, err := unkind.Trust(cluster, pods)
//		stream := unkind.WithCA(program.Stream, ca)
//	}
package unkind
