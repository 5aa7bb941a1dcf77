package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/test/appliers"
	"github.com/ordapply/ordapply/test/auditlog"
)

// node is a Deployment that is ready some time after its Pod was created, and applied when
// its dependencies are ready.
type node struct {
	name  string
	ready time.Duration
	after []string
}

func shapes() []string { return []string{"chain", "diamonds", "a slow branch beside a fast one"} }

// graphs are the shapes to apply, each node after those that it names.
func graphs() map[string][]node {
	const half = 500 * time.Millisecond
	var chain, diamonds []node
	for i := range 10 {
		n := node{name: fmt.Sprint("c", i), ready: half}
		if i > 0 {
			n.after = []string{fmt.Sprint("c", i-1)}
		}
		chain = append(chain, n)
	}
	diamonds = append(diamonds, node{name: "top0", ready: half})
	for i := range 4 {
		top, left, right, end := fmt.Sprint("top", i), fmt.Sprint("left", i), fmt.Sprint("right", i), fmt.Sprint("top", i+1)
		diamonds = append(diamonds, node{left, half, []string{top}}, node{right, 2 * half, []string{top}}, node{end, half, []string{left, right}})
	}
	// Level by level, the first level takes as long as its slow node, the fourth as long as
	// the slow end of the fast branch; the branches side by side take 4.5 s instead of 7.
	branches := []node{
		{"slow", 6 * half, nil}, {"fast", half, nil},
		{"afterslow1", half, []string{"slow"}}, {"afterfast1", half, []string{"fast"}},
		{"afterslow2", half, []string{"afterslow1"}}, {"afterfast2", half, []string{"afterfast1"}},
		{"afterslow3", half, []string{"afterslow2"}}, {"afterfast3", 6 * half, []string{"afterfast2"}},
	}
	return map[string][]node{shapes()[0]: chain, shapes()[1]: diamonds, shapes()[2]: branches}
}

// byGraph is ordapply without waves: each object is applied when its own dependencies are
// ready.
const byGraph = "ordapply, --schedule=graph"

// orderer is a program that applies a graph in order.
type orderer struct {
	name     string
	annotate func(namespace string, n node) map[string]string
	command  func(t target, nodes []node) ([]string, error)
}

func orderers() []orderer {
	apply := func(name string) func(target, []node) ([]string, error) {
		return func(t target, _ []node) ([]string, error) { return choosePeers(name)[0].apply(t), nil }
	}
	dependsOn := func(key string) func(string, node) map[string]string {
		return func(namespace string, n node) map[string]string {
			var refs []string
			for _, name := range n.after {
				refs = append(refs, fmt.Sprintf("apps/namespaces/%s/Deployment/%s", namespace, name))
			}
			if refs == nil {
				return nil
			}
			return map[string]string{key: strings.Join(refs, ",")}
		}
	}
	ours, kpt := dependsOn("ordapply.dev/depends-on"), dependsOn("config.kubernetes.io/depends-on")
	graph := func(t target, nodes []node) ([]string, error) {
		return append(choosePeers(plain)[0].apply(t), "--schedule=graph"), nil
	}
	return []orderer{
		{plain, ours, apply(plain)},
		{byGraph, ours, graph},
		{"kubectl, a loop over levels", func(string, node) map[string]string { return nil }, loop},
		{"kapp", changeRules, apply("kapp")},
		{"kapp, tuned", changeRules, apply("kapp, tuned")},
		{"kapply", kpt, apply("kapply")},
	}
}

// changeRules returns kapp's annotations.
func changeRules(_ string, n node) map[string]string {
	all := map[string]string{"kapp.k14s.io/change-group": "bench/" + n.name}
	for i, name := range n.after {
		all[fmt.Sprintf("kapp.k14s.io/change-rule.%d", i)] = "upsert after upserting bench/" + name
	}
	return all
}

// loop writes a script that applies the nodes of each level and waits for them.
func loop(t target, nodes []node) ([]string, error) {
	levels := map[string]int{}
	files := map[int]*strings.Builder{}
	for _, n := range nodes {
		level := 0
		for _, name := range n.after {
			level = max(level, levels[name]+1)
		}
		levels[n.name] = level
		if files[level] == nil {
			files[level] = &strings.Builder{}
		}
		files[level].WriteString(deployment(t.Namespace, n, nil))
	}
	script := "set -e\n"
	for level := range len(files) {
		file := filepath.Join(t.Dir, fmt.Sprintf("level-%d.yaml", level))
		if err := os.WriteFile(file, []byte(files[level].String()), 0o644); err != nil {
			return nil, err
		}
		script += fmt.Sprintf("\"$1\" apply --server-side --kubeconfig=%[1]s -f %[2]s\n\"$1\" rollout status --kubeconfig=%[1]s -f %[2]s\n", t.Kubeconfig, file)
	}
	return []string{"sh", "-c", script, "sh", "kubectl"}, nil
}

func deployment(namespace string, n node, annotations map[string]string) string {
	text, _ := json.Marshal(annotations) // "null" for none
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s, annotations: %[3]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {localcluster/ready-after: %[4]s}}
    spec: {containers: [{name: c, image: c}]}
`, n.name, namespace, text, n.ready)
}

// ordered measures how long programs take to apply a graph in order, until everything is
// ready.
func (l *lab) ordered(shape string, rounds int) (Part, error) {
	part := Part{Work: shape, Size: len(graphs()[shape])}
	for round := range rounds {
		by := orderers()
		if round%2 == 1 {
			slices.Reverse(by)
		}
		for _, o := range by {
			if part.spent(o.name, "ready") {
				continue
			}
			s, err := l.graph(o, graphs()[shape])
			if err != nil {
				return part, fmt.Errorf("%s, %s: %w", shape, o.name, err)
			}
			s.Peer, s.Phase, s.Round = o.name, "ready", round
			part.Samples = append(part.Samples, s)
			l.log("%s, round %d of %d, %s: %s of %.2f s", shape, round+1, rounds, o.name, shown([]Sample{s}), s.Critical)
		}
	}
	return part, nil
}

func (l *lab) graph(o orderer, nodes []node) (Sample, error) {
	if err := l.up(); err != nil {
		return Sample{}, err
	}
	t, err := l.target(0)
	if err != nil {
		return Sample{}, err
	}
	defer remove(t)
	var stream strings.Builder
	for _, n := range nodes {
		stream.WriteString(deployment(t.Namespace, n, o.annotate(t.Namespace, n)))
	}
	if err := os.WriteFile(t.File(), []byte(stream.String()), 0o644); err != nil {
		return Sample{}, err
	}
	if o.name == "kapply" {
		if err := appliers.Kapply().Prepare(t); err != nil {
			return Sample{}, err
		}
	}
	command, err := o.command(t, nodes)
	if err != nil {
		return Sample{}, err
	}
	from, err := l.logSize()
	if err != nil {
		return Sample{}, err
	}
	s, err := l.run(command, "")
	if err != nil || s.Failed != "" {
		return s, err
	}
	log, err := auditlog.Requests(l.running.AuditLog(), from)
	if err != nil {
		return s, err
	}
	if s.Critical, err = critical(nodes, log, t.Namespace); err != nil {
		return Sample{Failed: err.Error()}, nil
	}
	return s, nil
}

// critical returns the longest chain of the nodes' own times, in seconds: from the request
// that wrote a node to the answer to the status that says it is ready. A node must have been
// written after that status of its dependencies arrived: a watch may see it before the answer.
func critical(nodes []node, log []auditlog.Request, namespace string) (float64, error) {
	sent, arrived, ready := map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	for _, r := range log {
		if r.Resource != "deployments" || r.Namespace != namespace || r.Code >= 300 || r.DryRun {
			continue
		}
		name := r.Name
		switch {
		case r.Subresource == "" && r.User == "admin" && slices.Contains([]string{"create", "patch", "update"}, r.Verb):
			if _, known := sent[name]; !known {
				sent[name] = r.Arrived
			}
		case r.Subresource == "status":
			var answer struct{ Status struct{ ReadyReplicas int } }
			if err := json.Unmarshal(r.Object, &answer); err != nil {
				return 0, err
			}
			if _, known := ready[name]; !known && answer.Status.ReadyReplicas > 0 {
				arrived[name], ready[name] = r.Arrived, r.Answered
			}
		}
	}
	ends, longest := map[string]time.Duration{}, time.Duration(0)
	for _, n := range nodes {
		if sent[n.name].IsZero() || ready[n.name].IsZero() {
			return 0, fmt.Errorf("%s was not ready at the end", n.name)
		}
		begin := time.Duration(0)
		for _, name := range n.after {
			if sent[n.name].Before(arrived[name]) {
				return 0, fmt.Errorf("%s was applied before %s was ready", n.name, name)
			}
			begin = max(begin, ends[name])
		}
		ends[n.name] = begin + ready[n.name].Sub(sent[n.name])
		longest = max(longest, ends[n.name])
	}
	return longest.Seconds(), nil
}
