package apply

import (
	"time"

	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/ordering"
)

// addStepEdges makes every step wait for its dependencies.
func (r *run) addStepEdges() {
	for i := range r.steps {
		for _, need := range r.steps[i].Needs {
			r.order.Add(r.byID[need.ID], loop.Edge{To: i, Gate: need.Gate, Yields: need.Yields})
		}
	}
}

// layerNode returns the node of a layer in the order of a run.
func (r *run) layerNode(layer int) int { return len(r.steps) + layer }

// addLayerEdges makes steps wait for layers, and layers for their contents. With
// schedule Waves the waves do that.
func (r *run) addLayerEdges() {
	for n, l := range r.plan.Layers {
		for _, b := range l.After {
			r.order.Add(r.layerNode(b.Layer), loop.Edge{To: r.layerNode(n), Gate: ordering.Applied})
		}
		if l.Within >= 0 {
			r.order.Add(r.layerNode(n), loop.Edge{To: r.layerNode(l.Within), Gate: ordering.Applied})
		}
	}
	for i, s := range r.plan.Steps {
		for _, b := range s.After {
			r.order.Add(r.layerNode(b.Layer), loop.Edge{To: i, Gate: ordering.Applied})
		}
		for _, n := range s.Layers {
			r.order.Add(i, loop.Edge{To: r.layerNode(n), Gate: s.Gate})
		}
	}
}

// onGatePassed releases the nodes that waited for a node to pass a gate.
func (r *run) onGatePassed(node int, gate ordering.Gate) {
	for _, e := range r.order.From(node) {
		if e.Gate == gate {
			if e.To < len(r.steps) {
				r.inheritFreshness(e.To, node, gate)
			}
			r.release(e.To)
		}
	}
}

// passStarted releases the nodes that wait for a step's Pods, once.
func (r *run) passStarted(i int) {
	if s := &r.steps[i]; !s.podsExist {
		s.podsExist = true
		r.onGatePassed(i, ordering.Started)
	}
}

// release ends one wait of a node. A step that waits for nothing any more is restarted;
// a layer has passed every gate.
func (r *run) release(node int) {
	switch {
	case !r.order.Release(node):
	case node < len(r.steps):
		r.restart(node)
	default:
		r.onGatePassed(node, ordering.Applied)
	}
}

// restart starts a step once the current event is handled, or when a worker needs more. Its
// timeouts begin now.
func (r *run) restart(i int) {
	if s := &r.steps[i]; s.startedAt.IsZero() {
		s.startedAt = time.Now()
		r.setTimeouts(i)
	}
	r.toStart.Add(i)
}
