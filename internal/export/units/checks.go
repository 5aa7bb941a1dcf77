package units

import (
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// check sets which steps each unit waits for.
func (c *cutter) check() {
	for i := range c.plan.Steps {
		if !c.awaited[i] && c.answering[i] == nil {
			continue
		}
		for _, u := range c.checkers(i) {
			c.units[u].Checks = append(c.units[u].Checks, i)
		}
	}
	for u := range c.units {
		slices.Sort(c.units[u].Checks)
	}
}

// isAwaited reports for each step whether anything waits for it to become ready.
func (c *cutter) isAwaited() []bool {
	out := make([]bool, len(c.plan.Steps))
	for i, s := range c.plan.Steps {
		out[i] = out[i] || s.Gate == ordering.Ready
		for _, n := range s.Needs {
			if n.Gate == ordering.Ready {
				out[c.at[n.ID]] = true
			}
		}
	}
	return out
}

// checkers returns the units that wait for a step to become ready. Its own unit does,
// unless the step becomes ready only by objects of later units.
func (c *cutter) checkers(i int) []int {
	s := c.plan.Steps[i]
	own := []int{c.within[i]}
	if steps := c.answering[i]; steps != nil {
		return c.unitsOf(steps)
	}
	if c.instant(i) {
		return own
	}
	var users []int
	for _, d := range c.dependents[i] {
		if u := c.within[d]; u != own[0] && c.plan.Steps[d].Wave == s.ReadyBy {
			users = append(users, u)
		}
	}
	slices.Sort(users)
	users = slices.Compact(users)
	switch {
	case len(users) > 0:
		return users
	case s.ReadyBy == s.Wave:
		return own
	}
	return c.lastOf(s.ReadyBy)
}

// lastOf returns the units of the last level of a wave.
func (c *cutter) lastOf(wave int) []int {
	var units []int
	level := 0
	for i, p := range c.places {
		if p.wave != wave || p.level < level {
			continue
		}
		if p.level > level {
			units, level = nil, p.level
		}
		units = append(units, c.within[i])
	}
	slices.Sort(units)
	return slices.Compact(units)
}

// unitsOf returns the units of steps, each once.
func (c *cutter) unitsOf(steps []int) []int {
	units := make([]int, len(steps))
	for n, i := range steps {
		units[n] = c.within[i]
	}
	slices.Sort(units)
	return slices.Compact(units)
}
