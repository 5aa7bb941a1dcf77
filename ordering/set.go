package ordering

import (
	"time"

	"github.com/ordapply/ordapply/internal/graph"
)

// set is a layer during planning: resources that others wait for as a whole. In
// the graph it has two vertices, its entry and its exit, so that one edge
// expresses "all of this after all of that".
type set struct {
	name, short string
	kind        LayerKind
	within      int // the set around it, or -1
	gate        graph.Gate
	timeout     time.Duration
	after       []Barrier
	at          argoPlace // for sync waves
}

// membership puts a resource into a set: after its entry and before its exit.
// Either half may be weaker than a declared edge, or absent.
type membership struct {
	resource, set int
	in, out       graph.Strength
}

// noEdge means that this half of the membership has no edge.
const noEdge = graph.Hard + 1

func (d *declarations) addSet(s set) int {
	d.sets = append(d.sets, s)
	return len(d.sets) - 1
}

// join adds a resource to a set.
func (d *declarations) join(resource, set int, in, out graph.Strength) {
	d.members = append(d.members, membership{resource, set, in, out})
}

// entry and exit return the vertices of a set. They follow those of resources.
func (d *declarations) entry(set int) int32 { return int32(len(d.Resources) + 2*set) }
func (d *declarations) exit(set int) int32  { return d.entry(set) + 1 }

// isSetVertex reports whether a vertex is the entry or the exit of a set.
func (d *declarations) isSetVertex(v int32) bool {
	first := len(d.Resources)
	return int(v) >= first && int(v) < first+2*len(d.sets)
}

// setEdges returns the edges of the sets and their memberships.
func (d *declarations) setEdges() []graph.Edge {
	var edges []graph.Edge
	for s, set := range d.sets {
		in := graph.Reason{Rule: graph.Rule(set.kind), Detail: "part of " + set.name}
		edges = append(edges, graph.Edge{From: d.entry(s), To: d.exit(s), Gate: graph.Applied, Strength: graph.Hard, Why: in})
		if w := set.within; w >= 0 {
			around := graph.Reason{Rule: graph.Rule(set.kind), Detail: set.name + " is part of " + d.sets[w].name}
			edges = append(edges,
				graph.Edge{From: d.entry(w), To: d.entry(s), Gate: graph.Applied, Strength: graph.Hard, Why: around},
				graph.Edge{From: d.exit(s), To: d.exit(w), Gate: graph.Applied, Strength: graph.Hard, Why: around})
		}
		for _, b := range set.after {
			edges = append(edges, graph.Edge{From: d.exit(b.Layer), To: d.entry(s), Weight: 1, Strength: graph.Hard, Why: b.Why})
		}
	}
	for _, m := range d.members {
		s := d.sets[m.set]
		why := graph.Reason{Rule: graph.Rule(s.kind), Detail: "is in " + s.name}
		if m.in != noEdge {
			edges = append(edges, graph.Edge{From: d.entry(m.set), To: int32(m.resource), Gate: graph.Applied, Strength: m.in, Why: why})
		}
		if m.out != noEdge {
			edges = append(edges, graph.Edge{From: int32(m.resource), To: d.exit(m.set), Gate: s.gate, Strength: m.out, Why: why})
		}
	}
	return edges
}
