package units

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ordapply/ordapply/ordering"
)

// Unit is a set of resources that an engine applies together and then waits for.
type Unit struct {
	Name  string // "storage": a DNS label, unique among the units
	Steps []int  // indices into Plan.Steps, ascending
	After []int  // indices of the units that must be ready before it, all of them smaller than its own
	// Checks are the steps whose readiness the unit waits for. They may be steps of earlier
	// units that become ready only by something in this unit, such as a claim that a Pod of
	// this unit binds.
	Checks []int
	// Timeout is the longest timeout of its resources and layers; 0 if none has one.
	Timeout time.Duration
}

// WaitsForAll reports whether the unit waits for each of its resources and for nothing
// else.
func (u *Unit) WaitsForAll() bool { return slices.Equal(u.Checks, u.Steps) }

// place groups steps: units are the steps of one place.
type place struct {
	wave  int
	level int    // counts the declared edges within the wave that lead to the step
	layer string // "" for steps of several layers
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.wave, b.wave), cmp.Compare(a.level, b.level), cmp.Compare(a.layer, b.layer))
}

// cutter cuts one plan.
type cutter struct {
	plan    *ordering.Plan
	at      ordering.Positions
	instant func(step int) bool
	places  []place // per step
	within  []int   // per step: its unit
	// dependents are each step's dependents.
	dependents [][]int
	awaited    []bool  // per step: anything waits for it to become ready
	answering  [][]int // per step: the steps with whose units it becomes ready, see answeredWith
	units      []Unit
	lost       []Lost
}

// Cut is a plan in units.
type Cut struct {
	Units []Unit // each after the units that it waits for
	// With are for each step the units with which it can become ready: its own, or later ones,
	// if it needs their objects.
	With [][]int
	Lost []Lost // gates that units cannot keep
}

// Units cuts a plan into units. instant reports whether a step is ready as soon as it is
// applied.
func Units(plan *ordering.Plan, instant func(step int) bool) Cut {
	c := &cutter{plan: plan, at: plan.Positions(), instant: instant, places: make([]place, len(plan.Steps)), within: make([]int, len(plan.Steps))}
	c.dependents = dependents(plan, c.at)
	c.placeSteps()
	c.awaited = c.isAwaited()
	c.answering = c.answeredWith(c.awaited)
	c.group()
	c.name()
	c.connect()
	c.check()
	c.limit()
	with := make([][]int, len(plan.Steps))
	for i := range with {
		with[i] = c.checkers(i)
	}
	return Cut{c.units, with, c.lost}
}

// placeSteps puts each step into a place: its wave, its layer, and within the wave behind
// its declared needs.
func (c *cutter) placeSteps() {
	order := c.plan.Sequence()
	for _, i := range order {
		s := &c.plan.Steps[i]
		c.places[i] = place{wave: s.Wave, layer: c.layerOf(i)}
		for _, n := range s.Needs {
			if from := c.at[n.ID]; n.Hard && c.plan.Steps[from].Wave == s.Wave {
				c.places[i].level = max(c.places[i].level, c.places[from].level+1)
			}
		}
	}
	for _, i := range slices.Backward(order) { // dependents before their needs
		if s := &c.plan.Steps[i]; s.PlacedByDependents() {
			c.places[i].layer = c.commonLayer(i)
		}
	}
}

// dependents returns each step's dependents.
func dependents(plan *ordering.Plan, at ordering.Positions) [][]int {
	out := make([][]int, len(plan.Steps))
	for i, s := range plan.Steps {
		for _, n := range s.Needs {
			out[at[n.ID]] = append(out[at[n.ID]], i)
		}
	}
	return out
}

// layerOf returns the name of the layer that a step is applied with; "" if none.
func (c *cutter) layerOf(i int) string {
	s := c.plan.Steps[i]
	if mark := c.plan.LayerMark(s); mark != "" {
		return mark
	}
	if s.PlacedByDependents() || len(s.Layers) == 0 {
		return ""
	}
	return c.plan.Layers[s.Layers[0]].Name
}

// commonLayer returns the layer of all dependents in the step's wave, or "" if they are in
// several.
func (c *cutter) commonLayer(i int) string {
	layers := map[string]bool{}
	for _, d := range c.dependents[i] {
		if c.places[d].wave == c.places[i].wave {
			layers[c.places[d].layer] = true
		}
	}
	if len(layers) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(layers))[0]
}

// group makes a unit of each place.
func (c *cutter) group() {
	byPlace := map[place][]int{}
	for i, p := range c.places {
		byPlace[p] = append(byPlace[p], i)
	}
	for u, p := range slices.SortedFunc(maps.Keys(byPlace), comparePlaces) {
		c.units = append(c.units, Unit{Steps: byPlace[p]})
		for _, i := range byPlace[p] {
			c.within[i] = u
		}
	}
}

// limit sets the timeouts of the units.
func (c *cutter) limit() {
	for u := range c.units {
		unit := &c.units[u]
		for _, i := range unit.Checks {
			s := c.plan.Steps[i]
			unit.Timeout = max(unit.Timeout, s.Timeout)
			for _, l := range s.Layers {
				unit.Timeout = max(unit.Timeout, c.plan.Layers[l].Timeout)
			}
		}
	}
}
