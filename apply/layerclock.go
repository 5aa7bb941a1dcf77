package apply

import (
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// A layer's timeout bounds the time in which one of its resources is being
// applied or waited for. While it waits for other layers, its clock stands.

// layerClock is the clock of one layer that has a timeout.
type layerClock struct {
	busy  int       // resources being applied or waited for
	since time.Time // it runs
	spent time.Duration
	round int // tells the timer of now from those of the past
}

// busy tells whether a clock runs for a resource in a state.
func busy(state State) bool { return state == Applying || state == Waiting }

// tick starts and stops the clocks of the layers that a step is in.
func (r *run) tick(i int, from, to State) {
	if busy(from) == busy(to) {
		return
	}
	r.timedLayers(i, func(layer int) {
		c := r.clocks[layer]
		if c == nil {
			c = &layerClock{}
			r.clocks[layer] = c
		}
		if busy(to) {
			if c.busy++; c.busy == 1 {
				r.wind(layer, c)
			}
		} else if c.busy--; c.busy == 0 {
			c.round++
			c.spent += time.Since(c.since)
		}
	})
}

// wind lets a layer's clock run for the time that is left.
func (r *run) wind(layer int, c *layerClock) {
	c.round++
	c.since = time.Now()
	round := c.round
	r.after(r.plan.Layers[layer].Timeout-c.spent, func() {
		if c.round == round {
			r.layerExpired(layer, c)
		}
	})
}

// layerExpired gives up on the resources of a layer, but for those whose author
// gave them a time of their own: whatever of the layer is left after that has
// the layer's timeout once more.
func (r *run) layerExpired(layer int, c *layerClock) {
	limit := r.plan.Layers[layer].Timeout
	for i := range r.steps {
		s := &r.steps[i]
		if !busy(s.state) || s.passed || s.patience > 0 {
			continue
		}
		r.timedLayers(i, func(l int) {
			if l == layer && !s.state.Final() {
				r.timeOut(i, limit, r.layerTitle(layer))
			}
		})
	}
	c.spent = 0
	if c.busy > 0 {
		r.wind(layer, c)
	}
}

// layerTitle is a layer as messages name it: "layer app/data", "stack storage".
func (r *run) layerTitle(layer int) string {
	l := r.plan.Layers[layer]
	if l.Kind == ordering.Stamped {
		return "layer " + l.Name
	}
	return l.Name
}

// timedLayers visits the layers with a timeout that hold a step, directly or
// through layers inside them.
func (r *run) timedLayers(i int, visit func(layer int)) {
	if !r.timed {
		return
	}
	seen := map[int]bool{}
	for _, l := range r.steps[i].Layers {
		for ; l >= 0 && !seen[l]; l = r.plan.Layers[l].Within {
			seen[l] = true
			if r.plan.Layers[l].Timeout > 0 {
				visit(l)
			}
		}
	}
}
