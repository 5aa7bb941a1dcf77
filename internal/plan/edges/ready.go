package edges

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// A resource may have to be applied before something that it needs to become
// ready. Then "applied" and "ready" are two events with others between them,
// and the graph has a vertex for each: edges with gate Ready start at the
// second, and edges that delay readiness end there. A cycle through it means
// that a gate waits for something behind the gate and never opens.

// Readiness has the vertices of resources that are ready only later.
type Readiness struct {
	ReadyVertex map[int32]int32 // by resource
	ReadyOf     map[int32]int32 // the other way
}

// resolveEdges decides which edges are kept.
func (b *Dependencies) resolveEdges(edges []graph.Edge) graph.Resolution {
	size := b.Vertices()
	out := graph.Resolve(size, edges, b.IsSetVertex)
	early := slices.ContainsFunc(out.Dropped, func(c graph.Contradiction) bool { return c.Edge.Strength.DelaysReadiness() })
	if early && len(out.Cycles) == 0 {
		size, edges = b.splitReadiness(edges, size)
		split := graph.Resolve(size, edges, b.IsSetVertex)
		split.Searched += out.Searched
		return split
	}
	return out
}

// splitReadiness adds a ready vertex for every resource that needs others to
// become ready, and redirects edges to it.
func (b *Dependencies) splitReadiness(edges []graph.Edge, size int) (int, []graph.Edge) {
	b.ReadyVertex, b.ReadyOf = map[int32]int32{}, map[int32]int32{}
	var out []graph.Edge
	for _, e := range edges {
		if e.Strength.DelaysReadiness() && b.ReadyVertex[e.To] == 0 {
			v := int32(size + len(b.ReadyVertex))
			b.ReadyVertex[e.To], b.ReadyOf[v] = v, e.To
			out = append(out, graph.Edge{From: e.To, To: v, Gate: ordering.Applied, Strength: graph.Hard, Why: ordering.Reason{Rule: "readiness", Detail: "ready only when applied"}})
		}
	}
	for _, e := range edges {
		if v, ok := b.ReadyVertex[e.From]; ok && e.Gate == ordering.Ready {
			e.From = v
		}
		out = append(out, e)
		if e.Strength.DelaysReadiness() {
			if v, ok := b.ReadyVertex[e.From]; ok && e.Gate == ordering.Started { // to be ready takes more than to start
				e.From = v
			}
			e.To, e.Strength, e.Weight = b.ReadyVertex[e.To], graph.Certain, 0 // both become ready in the same wave
			out = append(out, e)
		}
	}
	return size + len(b.ReadyOf), out
}

// Graph returns the graph of the edges that are kept.
func (b *Dependencies) Graph() *graph.Graph { return graph.New(b.Vertices()+len(b.ReadyOf), b.Kept) }

// ResourceOf returns the resource of a vertex, applied or ready; ok is false
// for vertices of sets.
func (b *Dependencies) ResourceOf(v int32) (resource int32, ok bool) {
	if r, ok := b.ReadyOf[v]; ok {
		return r, true
	}
	return v, int(v) < len(b.Resources)
}

// relaxClaims relaxes edges that wait for a PersistentVolumeClaim to be bound: the
// claim may bind only when a Pod uses it, so dependents wait until it is
// applied. Claims of a StorageClass in the stream that binds immediately are
// unaffected.
func (b *Dependencies) relaxClaims(edges []graph.Edge) {
	for i := range edges {
		e := &edges[i]
		if int(e.From) >= len(b.Resources) || e.Gate != ordering.Ready || !references.IsClaim(b.Resources[e.From].ID) || !b.BindsOnUse(b.Resources[e.From]) {
			continue
		}
		e.Gate = ordering.Applied
		if int(e.To) < len(b.Resources) {
			e.Weight = 0
			b.Notes = append(b.Notes, b.Resources[e.To].ID.String()+" waits only until "+b.Resources[e.From].ID.String()+" is applied ("+e.Why.String()+"): the claim may not bind before a Pod uses it")
		}
	}
}

// IsResource reports whether a vertex is a resource, and not an end of a layer.
func (b *Dependencies) IsResource(v int32) bool {
	_, ok := b.ResourceOf(v)
	return ok
}
