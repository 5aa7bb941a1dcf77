package apply

import "github.com/ordapply/ordapply/ordering"

// The order of a run is a graph. Its nodes are the plan's steps and, behind
// them, its layers. A wire says that a node waits until another passed a gate;
// a node opens when nothing is left for it to wait for.

type wire struct {
	to   int
	gate ordering.Gate
}

// connect lets node to wait for node from.
func (r *run) connect(from, to int, gate ordering.Gate) {
	r.wires[from] = append(r.wires[from], wire{to, gate})
	r.blockers[to]++
}

// wireSteps lets every step wait for the resources that it needs.
func (r *run) wireSteps() {
	nodes := len(r.steps) + len(r.plan.Layers)
	r.wires, r.blockers = make([][]wire, nodes), make([]int, nodes)
	for i := range r.steps {
		for _, need := range r.steps[i].Needs {
			r.connect(r.byID[need.ID], i, need.Gate)
		}
	}
}

// wireLayers lets steps wait for layers, and layers for what they hold. Waves
// stand for that when the run goes by waves.
func (r *run) wireLayers() {
	layer := func(n int) int { return len(r.steps) + n }
	for n, l := range r.plan.Layers {
		for _, b := range l.After {
			r.connect(layer(b.Layer), layer(n), ordering.Applied)
		}
		if l.Within >= 0 {
			r.connect(layer(n), layer(l.Within), ordering.Applied)
		}
	}
	for i, s := range r.plan.Steps {
		for _, b := range s.After {
			r.connect(layer(b.Layer), i, ordering.Applied)
		}
		for _, n := range s.Layers {
			r.connect(i, layer(n), s.Gate)
		}
	}
}

// met goes on with whoever waited for a node to pass a gate.
func (r *run) met(node int, gate ordering.Gate) {
	for _, w := range r.wires[node] {
		if w.gate == gate {
			if w.to < len(r.steps) {
				r.inheritFreshness(w.to, node, gate)
			}
			r.release(w.to)
		}
	}
}

// release takes away one thing that a node waited for, and opens it when that
// was the last. An open layer has passed every gate.
func (r *run) release(node int) {
	if r.blockers[node]--; r.blockers[node] > 0 {
		return
	}
	if node < len(r.steps) {
		r.start(node)
		return
	}
	r.met(node, ordering.Applied)
}

// neededReady tells whether somebody waits for the step to be ready.
func (r *run) neededReady(i int) bool {
	for _, w := range r.wires[i] {
		if w.gate == ordering.Ready {
			return true
		}
	}
	return false
}

// skipDependants ends what can no longer be applied because step i failed,
// saying so. What waited only for it to be applied goes on if it was.
func (r *run) skipDependants(i int, applied bool) {
	seen := map[int]bool{}
	var skip func(node int, applied bool)
	skip = func(node int, applied bool) {
		for _, w := range r.wires[node] {
			if applied && w.gate == ordering.Applied || seen[w.to] {
				continue
			}
			seen[w.to] = true
			if w.to < len(r.steps) {
				if r.steps[w.to].state != Pending {
					continue
				}
				r.finish(w.to, Skipped, "it needs "+r.steps[i].ID.String()+", which "+r.steps[i].fate())
			}
			skip(w.to, false)
		}
	}
	skip(i, applied)
}

// fate is what became of a step that others need.
func (s *step) fate() string {
	switch {
	case s.state == TimedOut:
		return "was not ready in time"
	case s.answered.IsZero():
		return "could not be applied"
	}
	return "failed"
}
