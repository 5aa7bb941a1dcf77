package edges

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/graph"
)

// CycleError reports resources or layers that wait for each other in a cycle.
type CycleError struct {
	// Cycle has the edges in order: the To of an edge is the From of the next one, and
	// the To of the last edge is the From of the first. There is at least one edge, of a
	// resource that waits for itself.
	Cycle []CycleEdge
}

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
	plain.Fprintf(&b, "a cycle of %d: none of these can be first; remove one of the edges", len(e.Cycle))
	for _, edge := range e.Cycle {
		plain.Fprintf(&b, "\n  %s", edge)
	}
	return b.String()
}

// CycleError converts a cycle of edges. If all ends have the same name, as in a
// set that waits for itself, it reports the one edge that the author declared:
// the edge back from the set's exit or from the ready vertex.
func (b *Dependencies) CycleError(cycle []graph.Edge) *CycleError {
	if path := b.Describe(cycle); len(path) > 0 {
		return &CycleError{Cycle: path}
	}
	back := cycle[0]
	for _, e := range cycle {
		if e.From > e.To {
			back = e
		}
	}
	return &CycleError{Cycle: []CycleEdge{{From: b.VertexName(back.From), To: b.VertexName(back.To), Why: back.Why}}}
}

// Describe converts a path for display. It drops the edges from a set's entry
// to its exit.
func (b *Dependencies) Describe(path []graph.Edge) []CycleEdge {
	var out []CycleEdge
	for _, e := range path {
		if from, to := b.VertexName(e.From), b.VertexName(e.To); from != to {
			out = append(out, CycleEdge{From: from, To: to, Why: e.Why})
		}
	}
	return out
}

// VertexName returns the display name of a vertex: a resource or a layer.
func (b *Dependencies) VertexName(v int32) string {
	if r, ok := b.ResourceOf(v); ok {
		return b.Resources[r].ID.String()
	}
	return b.Sets[b.SetOf(v)].Title()
}
