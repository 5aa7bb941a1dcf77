package loop

import (
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// Clocks are those of the layers of a plan that have a timeout.
type Clocks struct {
	loop      *Loop
	plan      *ordering.Plan
	onTimeout func(layer int)
	clocks    map[int]*clock // by layer
}

// clock is the clock of one layer.
type clock struct {
	active int       // resources being applied or waited for
	since  time.Time // when it was started
	used   time.Duration
	timer  int // identifies the current timer; older ones are stale
}

// NewClocks returns the clocks of a plan, all stopped. After onTimeout the clock starts again, for
// what is left of the layer.
func NewClocks(l *Loop, plan *ordering.Plan, onTimeout func(layer int)) *Clocks {
	c := &Clocks{loop: l, plan: plan, onTimeout: onTimeout, clocks: map[int]*clock{}}
	for n, layer := range plan.Layers {
		if layer.Timeout > 0 {
			c.clocks[n] = &clock{}
		}
	}
	return c
}

// Start counts a step as being applied or waited for, until Stop.
func (c *Clocks) Start(step int) {
	for _, layer := range c.Of(step) {
		one := c.clocks[layer]
		if one.active++; one.active == 1 {
			c.start(layer, one)
		}
	}
}

// Stop ends what Start began.
func (c *Clocks) Stop(step int) {
	for _, layer := range c.Of(step) {
		one := c.clocks[layer]
		if one.active--; one.active == 0 {
			one.timer++
			one.used += time.Since(one.since)
		}
	}
}

// start starts a layer's clock for the remaining time.
func (c *Clocks) start(layer int, one *clock) {
	one.timer++
	one.since = time.Now()
	round := one.timer
	c.loop.After(c.Limit(layer)-one.used, func() {
		if one.timer != round {
			return
		}
		c.onTimeout(layer)
		if one.used = 0; one.active > 0 {
			c.start(layer, one)
		}
	})
}

// Of returns the layers with a timeout that contain a step, directly or through layers inside
// them.
func (c *Clocks) Of(step int) []int {
	if len(c.clocks) == 0 {
		return nil
	}
	var found []int
	seen := map[int]bool{}
	for _, l := range c.plan.Steps[step].Layers {
		for ; l >= 0 && !seen[l]; l = c.plan.Layers[l].Within {
			seen[l] = true
			if c.clocks[l] != nil {
				found = append(found, l)
			}
		}
	}
	return found
}

// Limit returns the timeout of a layer.
func (c *Clocks) Limit(layer int) time.Duration { return c.plan.Layers[layer].Timeout }

// Title returns the layer's name in messages: "layer app/data", "stack storage".
func (c *Clocks) Title(layer int) string {
	l := c.plan.Layers[layer]
	if l.Kind == ordering.Stamped {
		return "layer " + l.Name
	}
	return l.Name
}
