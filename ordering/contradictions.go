package ordering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// CycleError says that resources or layers wait for each other in a circle. It has
// at least one edge: that of what waits for itself.
type CycleError struct {
	first  CycleEdge
	others []CycleEdge
}

// Cycle is the road, each entry waiting for the one before it; the first waits for
// the last.
func (e *CycleError) Cycle() []CycleEdge { return append([]CycleEdge{e.first}, e.others...) }

// CycleEdge is one edge of a cycle, with its ends as people read them.
type CycleEdge struct {
	From, To string // To waits for From
	Why      Reason
}

func (e CycleEdge) String() string {
	return fmt.Sprintf("%s waits for %s (%s)", e.To, e.From, e.Why.Located())
}

func (e *CycleError) Error() string {
	var b strings.Builder
	plain.Fprintf(&b, "a cycle of %d: none of these can be first; remove one of the edges", 1+len(e.others))
	for _, edge := range e.Cycle() {
		plain.Fprintf(&b, "\n  %s", edge)
	}
	return b.String()
}

// cycleError makes an error of a circle of edges. Where all of them have one name,
// as those of a set that waits for itself, the one that its author wrote is told: it
// leads back from the end of the set, or from the resource being ready.
func (b *builder) cycleError(cycle []edge) *CycleError {
	if road := b.readable(cycle); len(road) > 0 {
		return &CycleError{first: road[0], others: road[1:]}
	}
	back := cycle[0]
	for _, e := range cycle {
		if e.from > e.to {
			back = e
		}
	}
	return &CycleError{first: CycleEdge{From: b.vertexName(back.from), To: b.vertexName(back.to), Why: back.why}}
}

// readable is a road as people read it. Steps from a set's entry to its exit
// say nothing.
func (b *builder) readable(road []edge) []CycleEdge {
	var out []CycleEdge
	for _, e := range road {
		if from, to := b.vertexName(e.from), b.vertexName(e.to); from != to {
			out = append(out, CycleEdge{From: from, To: to, Why: e.why})
		}
	}
	return out
}

// vertexName is a vertex as people read it: a resource or a layer.
func (b *builder) vertexName(v int32) string {
	if r, ok := b.resourceOf(v); ok {
		return b.resources[r].ID.String()
	}
	return b.sets[b.setOf(v)].title()
}

func (d *declarations) setOf(v int32) int { return (int(v) - len(d.resources)) / 2 }

// title is the set's name in a sentence.
func (s set) title() string {
	switch s.kind {
	case Stamped, Application:
		return string(s.kind) + " " + s.name
	case HelmGroup:
		return "group " + s.name
	}
	return s.name
}

// contradiction says why an inferred edge cannot be kept, and what to do.
func (b *builder) contradiction(c contradiction) string {
	needer, needed := b.ends(c.edge)
	early, late, ok := b.layersBetween(c.edge)
	if !ok {
		var steps []string
		for _, e := range b.readable(c.road) {
			steps = append(steps, e.String())
		}
		return fmt.Sprintf("%s needs %s (%s), and would wait for ever, because %s; remove one of these edges", needer, needed, c.edge.why.Located(), strings.Join(steps, ", and "))
	}
	return fmt.Sprintf("%s (%s) needs %s (%s), which %s places after it: %s; %s",
		needer, early.title(), needed, c.edge.why, late.title(), outcome(c.edge, early), b.fix(early, needed.String()))
}

// outcome says what would happen if an edge were given up.
func outcome(e edge, early set) string {
	if e.strength == exists {
		return "the API server would refuse it"
	}
	return early.title() + " would wait for ever"
}

// ends are the two resources of an edge.
func (b *builder) ends(e edge) (needer, needed object.ID) {
	from, _ := b.resourceOf(e.from)
	to, _ := b.resourceOf(e.to)
	return b.resources[to].ID, b.resources[from].ID
}

// layersBetween are the layers that put the two ends of an edge into the wrong
// order, when it is they that do.
func (b *builder) layersBetween(e edge) (early, late set, ok bool) {
	from, _ := b.resourceOf(e.from)
	to, _ := b.resourceOf(e.to)
	if b.layerOf[from] < 0 || b.layerOf[to] < 0 || b.layerOf[from] == b.layerOf[to] || b.standing[from] != placed || b.standing[to] != placed {
		return early, late, false
	}
	return b.sets[b.layerOf[to]], b.sets[b.layerOf[from]], true
}

// fix says how to place a resource before one that needs it.
func (b *builder) fix(early set, needed string) string {
	switch early.kind {
	case ArgoWave:
		return fmt.Sprintf("give %s the hook and wave of %s or of an earlier one", needed, early.name)
	case HelmGroup:
		return fmt.Sprintf("put %s into group %s or into one that it depends on, or into none so that it goes where it is needed", needed, early.short)
	case Application:
		return fmt.Sprintf("let application %s or one that it depends on select %s, or let none select it so that it goes where it is needed", early.name, needed)
	}
	return fmt.Sprintf("let a selector of %s or of an earlier layer match %s, or let none match it so that it goes where it is needed", early.short, needed)
}

// remarks are the notes of a plan: those about declarations, and resources
// that go out before something that they need.
func (b *builder) remarks() []string {
	return slices.Concat(b.notes, b.notesOfEarly())
}

func (b *builder) goesFirst(c contradiction) string {
	needer, needed := b.ends(c.edge)
	if early, late, ok := b.layersBetween(c.edge); ok {
		return fmt.Sprintf("%s is applied before %s, which it needs (%s): %s comes before %s and waits only until it is applied",
			needer, needed, c.edge.why, early.title(), late.title())
	}
	return fmt.Sprintf("%s is applied before %s, which it needs (%s): %s", needer, needed, c.edge.why, b.readable(c.road)[0])
}

// droppedEdges are the inferred edges between resources that were not kept.
func (b *builder) droppedEdges() []Dropped {
	var out []Dropped
	for _, c := range b.dropped {
		if needer, ok := b.resourceOf(c.edge.to); ok && c.edge.strength != place {
			out = append(out, Dropped{ID: b.resources[needer].ID, Need: b.need(c.edge), Because: b.readable(c.road)})
		}
	}
	return out
}
