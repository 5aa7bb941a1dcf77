package apply

import (
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// A layer's timeout bounds the time in which any of its resources is being
// applied or waited for. While the layer waits for other layers, its clock is
// stopped.

// layerClock is the clock of one layer with a timeout.
type layerClock struct {
	active int       // resources being applied or waited for
	since  time.Time // when it was started
	used   time.Duration
	timer  int // identifies the current timer; older ones are stale
}

// isActive reports whether the clock runs for a resource in this state.
func isActive(state State) bool { return state == Applying || state == Waiting }

// updateLayerClocks starts and stops the clocks of a step's layers on a transition.
func (r *run) updateLayerClocks(i int, from, to State) {
	if isActive(from) == isActive(to) {
		return
	}
	r.timedLayers(i, func(layer int) {
		c := r.layerClocks[layer]
		if c == nil {
			c = &layerClock{}
			r.layerClocks[layer] = c
		}
		if isActive(to) {
			if c.active++; c.active == 1 {
				r.startLayerClock(layer, c)
			}
		} else if c.active--; c.active == 0 {
			c.timer++
			c.used += time.Since(c.since)
		}
	})
}

// startLayerClock starts a layer's clock for the remaining time.
func (r *run) startLayerClock(layer int, c *layerClock) {
	c.timer++
	c.since = time.Now()
	round := c.timer
	r.After(r.plan.Layers[layer].Timeout-c.used, func() {
		if c.timer == round {
			r.onLayerTimeout(layer, c)
		}
	})
}

// onLayerTimeout times out the resources of a layer, except those with a
// timeout of their own. The layer's remaining resources then get the layer's
// timeout once more.
func (r *run) onLayerTimeout(layer int, c *layerClock) {
	limit := r.plan.Layers[layer].Timeout
	for i := range r.steps {
		s := &r.steps[i]
		if !isActive(s.state) || s.gatePassed || s.ownTimeout > 0 {
			continue
		}
		r.timedLayers(i, func(l int) {
			if l == layer && !s.state.Final() {
				r.failTimeout(i, limit, r.layerTitle(layer))
			}
		})
	}
	c.used = 0
	if c.active > 0 {
		r.startLayerClock(layer, c)
	}
}

// layerTitle returns the layer's name in messages: "layer app/data", "stack
// storage".
func (r *run) layerTitle(layer int) string {
	l := r.plan.Layers[layer]
	if l.Kind == ordering.Stamped {
		return "layer " + l.Name
	}
	return l.Name
}

// timedLayers visits the layers with a timeout that contain a step, directly
// or through layers inside them.
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
