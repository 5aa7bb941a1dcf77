package edges

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// CycleError converts a cycle of edges. If all ends have the same name, as in a
// set that waits for itself, it reports the one edge that the author declared:
// the edge back from the set's exit or from the ready vertex.
func (b *Dependencies) CycleError(cycle []graph.Edge) *ordering.CycleError {
	if path := b.Describe(cycle); len(path) > 0 {
		return &ordering.CycleError{Cycle: path}
	}
	back := cycle[0]
	for _, e := range cycle {
		if e.From > e.To {
			back = e
		}
	}
	return &ordering.CycleError{Cycle: []ordering.CycleEdge{{From: b.VertexName(back.From), To: b.VertexName(back.To), Why: back.Why}}}
}

// Describe converts a path for display. It drops the edges from a set's entry
// to its exit.
func (b *Dependencies) Describe(path []graph.Edge) []ordering.CycleEdge {
	var out []ordering.CycleEdge
	for _, e := range path {
		if from, to := b.VertexName(e.From), b.VertexName(e.To); from != to {
			out = append(out, ordering.CycleEdge{From: from, To: to, Why: e.Why})
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
