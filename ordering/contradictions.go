package ordering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/declared"
	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// CycleError reports resources or layers that wait for each other in a cycle.
// The cycle has at least one edge, from a resource that waits for itself.
type CycleError struct {
	first  CycleEdge
	others []CycleEdge
}

// Cycle returns the edges in order: each target waits for the one before it,
// and the first waits for the last.
func (e *CycleError) Cycle() []CycleEdge { return append([]CycleEdge{e.first}, e.others...) }

// CycleEdge is one edge of a cycle, with display names of its ends.
type CycleEdge struct {
	From, To string       // "Service shop/web", "layer platform/data"; To waits for From
	Why      graph.Reason // what made it
}

// String returns "To waits for From (reason; position)".
func (e CycleEdge) String() string {
	return fmt.Sprintf("%s waits for %s (%s)", e.To, e.From, e.Why.Located())
}

// Error returns one line with the remedy, and one for each edge.
func (e *CycleError) Error() string {
	var b strings.Builder
	plain.Fprintf(&b, "a cycle of %d: none of these can be first; remove one of the edges", 1+len(e.others))
	for _, edge := range e.Cycle() {
		plain.Fprintf(&b, "\n  %s", edge)
	}
	return b.String()
}

// cycleError converts a cycle of edges. If all ends have the same name, as in a
// set that waits for itself, it reports the one edge that the author declared:
// the edge back from the set's exit or from the ready vertex.
func (b *builder) cycleError(cycle []graph.Edge) *CycleError {
	if road := b.readable(cycle); len(road) > 0 {
		return &CycleError{first: road[0], others: road[1:]}
	}
	back := cycle[0]
	for _, e := range cycle {
		if e.From > e.To {
			back = e
		}
	}
	return &CycleError{first: CycleEdge{From: b.vertexName(back.From), To: b.vertexName(back.To), Why: back.Why}}
}

// readable converts a path for display. It drops the edges from a set's entry
// to its exit.
func (b *builder) readable(road []graph.Edge) []CycleEdge {
	var out []CycleEdge
	for _, e := range road {
		if from, to := b.vertexName(e.From), b.vertexName(e.To); from != to {
			out = append(out, CycleEdge{From: from, To: to, Why: e.Why})
		}
	}
	return out
}

// vertexName returns the display name of a vertex: a resource or a layer.
func (b *builder) vertexName(v int32) string {
	if r, ok := b.resourceOf(v); ok {
		return b.Resources[r].ID.String()
	}
	return b.Sets[b.SetOf(v)].Title()
}

// contradiction explains why an inferred edge cannot be kept, and how to fix
// it.
func (b *builder) contradiction(c graph.Contradiction) string {
	needer, needed := b.ends(c.Edge)
	early, late, ok := b.layersBetween(c.Edge)
	if !ok {
		var steps []string
		for _, e := range b.readable(c.Path) {
			steps = append(steps, e.String())
		}
		return fmt.Sprintf("%s needs %s (%s) and would wait forever, because %s; remove one of these edges", needer, needed, c.Edge.Why.Located(), strings.Join(steps, ", and "))
	}
	return fmt.Sprintf("%s (%s) needs %s (%s), which %s places after it: %s; %s",
		needer, early.Title(), needed, c.Edge.Why, late.Title(), outcome(c.Edge, early), b.fix(early, needed.String()))
}

// outcome describes what would happen if an edge were dropped.
func outcome(e graph.Edge, early declared.Set) string {
	if e.Strength == graph.Exists {
		return "the API server would reject it"
	}
	return early.Title() + " would wait forever"
}

// ends returns the two resources of an edge.
func (b *builder) ends(e graph.Edge) (needer, needed object.ID) {
	from, _ := b.resourceOf(e.From)
	to, _ := b.resourceOf(e.To)
	return b.Resources[to].ID, b.Resources[from].ID
}

// layersBetween returns the layers that place the ends of an edge in the wrong
// order; ok is false if the cause is something else.
func (b *builder) layersBetween(e graph.Edge) (early, late declared.Set, ok bool) {
	from, _ := b.resourceOf(e.From)
	to, _ := b.resourceOf(e.To)
	if b.LayerOf[from] < 0 || b.LayerOf[to] < 0 || b.LayerOf[from] == b.LayerOf[to] || b.Placements[from] != declared.Placed || b.Placements[to] != declared.Placed {
		return early, late, false
	}
	return b.Sets[b.LayerOf[to]], b.Sets[b.LayerOf[from]], true
}

// fix suggests how to place a resource before its dependent.
func (b *builder) fix(early declared.Set, needed string) string {
	switch early.Kind {
	case ArgoWave:
		return fmt.Sprintf("give %s the hook and wave of %s or of an earlier one", needed, early.Name)
	case HelmGroup:
		return fmt.Sprintf("put %s into group %s, into a group that it depends on, or into no group, so that it goes before its dependents", needed, early.Short)
	case Application:
		return fmt.Sprintf("make application %s or one that it depends on select %s, or make none select it, so that it goes before its dependents", early.Name, needed)
	}
	return fmt.Sprintf("make a selector of %s or of an earlier layer match %s, or make none match it, so that it goes before its dependents", early.Short, needed)
}

// planNotes returns the notes of a plan: about declarations, and about resources
// that are applied before something that they need.
func (b *builder) planNotes() []string {
	return slices.Concat(b.Notes, b.earlyNotes())
}

func (b *builder) describeEarly(c graph.Contradiction) string {
	needer, needed := b.ends(c.Edge)
	if early, late, ok := b.layersBetween(c.Edge); ok {
		return fmt.Sprintf("%[1]s is applied before %[2]s, which it needs (%[3]s): %[4]s comes before %[5]s, which waits only until %[4]s is applied",
			needer, needed, c.Edge.Why, early.Title(), late.Title())
	}
	return fmt.Sprintf("%s is applied before %s, which it needs (%s): %s", needer, needed, c.Edge.Why, b.readable(c.Path)[0])
}

// droppedEdges returns the inferred edges between resources that were dropped.
func (b *builder) droppedEdges() []Dropped {
	var out []Dropped
	for _, c := range b.dropped {
		if needer, ok := b.resourceOf(c.Edge.To); ok && c.Edge.Strength != graph.DefaultPlace {
			out = append(out, Dropped{ID: b.Resources[needer].ID, Need: b.need(c.Edge), Because: b.readable(c.Path)})
		}
	}
	return out
}
