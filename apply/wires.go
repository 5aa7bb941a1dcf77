package apply

import (
	"github.com/ordapply/ordapply/ordering"
)

// The order of a run is a graph. Its nodes are the plan's steps, followed by
// its layers. An edge makes a node wait until another one has passed a gate; a
// node opens when it waits for nothing any more.

type edge struct {
	to   int
	gate ordering.Gate
}

// addEdge makes node to wait for node from.
func (r *run) addEdge(from, to int, gate ordering.Gate) {
	r.edges[from] = append(r.edges[from], edge{to, gate})
	r.waitCounts[to]++
}

// addStepEdges makes every step wait for its dependencies.
func (r *run) addStepEdges() {
	nodes := len(r.steps) + len(r.plan.Layers)
	r.edges, r.waitCounts = make([][]edge, nodes), make([]int, nodes)
	for i := range r.steps {
		for _, need := range r.steps[i].Needs {
			r.addEdge(r.byID[need.ID], i, need.Gate)
		}
	}
}

// addLayerEdges makes steps wait for layers, and layers for their contents. With
// schedule Waves the waves do that.
func (r *run) addLayerEdges() {
	layer := func(n int) int { return len(r.steps) + n }
	for n, l := range r.plan.Layers {
		for _, b := range l.After {
			r.addEdge(layer(b.Layer), layer(n), ordering.Applied)
		}
		if l.Within >= 0 {
			r.addEdge(layer(n), layer(l.Within), ordering.Applied)
		}
	}
	for i, s := range r.plan.Steps {
		for _, b := range s.After {
			r.addEdge(layer(b.Layer), i, ordering.Applied)
		}
		for _, n := range s.Layers {
			r.addEdge(i, layer(n), s.Gate)
		}
	}
}

// onGatePassed releases the nodes that waited for a node to pass a gate.
func (r *run) onGatePassed(node int, gate ordering.Gate) {
	for _, w := range r.edges[node] {
		if w.gate == gate {
			if w.to < len(r.steps) {
				r.inheritFreshness(w.to, node, gate)
			}
			r.release(w.to)
		}
	}
}

// release removes one blocker of a node, and opens it when that was the last.
// An open layer has passed every gate.
func (r *run) release(node int) {
	if r.waitCounts[node]--; r.waitCounts[node] > 0 {
		return
	}
	if node < len(r.steps) {
		r.start(node)
		return
	}
	r.onGatePassed(node, ordering.Applied)
}

// hasReadyDependents reports whether a node waits for the step to be ready.
func (r *run) hasReadyDependents(i int) bool {
	for _, w := range r.edges[i] {
		if w.gate == ordering.Ready {
			return true
		}
	}
	return false
}

// skipDependents skips the dependents of step i, which failed, directly and
// indirectly. Those that waited only for it to be applied are started if it
// was.
func (r *run) skipDependents(i int, applied bool) {
	seen := map[int]bool{}
	var skip func(node int, applied bool)
	skip = func(node int, applied bool) {
		for _, w := range r.edges[node] {
			if applied && w.gate == ordering.Applied || seen[w.to] {
				continue
			}
			seen[w.to] = true
			if w.to < len(r.steps) {
				if r.steps[w.to].state != Pending {
					continue
				}
				r.finish(w.to, Skipped, "it needs "+r.steps[i].ID.String()+", which "+r.steps[i].outcomeInWords())
			}
			skip(w.to, false)
		}
	}
	skip(i, applied)
}

// outcomeInWords describes the outcome of a step that others depend on.
func (s *step) outcomeInWords() string {
	switch {
	case s.state == TimedOut:
		return "was not ready in time"
	case s.answeredAt.IsZero():
		return "could not be applied"
	}
	return "failed"
}
