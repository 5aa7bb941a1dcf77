package planner

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
)

// scheduleLate moves every floating resource to the last wave that is early enough for
// all its dependents. Dependents are handled before their dependencies.
func (b *planner) scheduleLate(order []int32) {
	for _, v := range slices.Backward(order) {
		if r, ok := b.ResourceOf(v); ok && b.Floating[r] {
			if e := b.firstOutEdge(v); e != nil {
				b.rank[v] = max(b.rank[v], b.rank[e.To]-int(e.Weight))
			}
		}
	}
}

// firstOutEdge returns the outgoing edge whose target comes first.
func (b *planner) firstOutEdge(v int32) *graph.Edge {
	var first *graph.Edge
	for _, i := range b.graph.Out.Of(v) {
		e := &b.Kept[i]
		if first == nil || b.rank[e.To]-int(e.Weight) < b.rank[first.To]-int(first.Weight) {
			first = e
		}
	}
	return first
}

// earliestDependent returns the edge to the earliest dependent of a resource, which
// may need it applied or ready; nil if it has no dependents.
func (b *planner) earliestDependent(v int32) *graph.Edge {
	e := b.firstOutEdge(v)
	if ready, ok := b.ReadyVertex[v]; ok && e != nil && e.To == ready {
		return b.firstOutEdge(ready)
	}
	return e
}
