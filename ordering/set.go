package ordering

import "time"

// set is a layer during planning: resources that others wait for as a whole. In
// the graph it has two vertices, its entry and its exit, so that one edge
// expresses "all of this after all of that".
type set struct {
	name, short string
	kind        LayerKind
	within      int // the set around it, or -1
	gate        Gate
	timeout     time.Duration
	after       []Barrier
	at          argoPlace // for sync waves
}

// membership puts a resource into a set: after its entry and before its exit.
// Either half may be weaker than a declared edge, or absent.
type membership struct {
	resource, set int
	in, out       strength
}

// noEdge means that this half of the membership has no edge.
const noEdge = hard + 1

func (d *declarations) addSet(s set) int {
	d.sets = append(d.sets, s)
	return len(d.sets) - 1
}

// join adds a resource to a set.
func (d *declarations) join(resource, set int, in, out strength) {
	d.members = append(d.members, membership{resource, set, in, out})
}

// entry and exit return the vertices of a set. They follow those of resources.
func (d *declarations) entry(set int) int32 { return int32(len(d.resources) + 2*set) }
func (d *declarations) exit(set int) int32  { return d.entry(set) + 1 }

// isSetVertex reports whether a vertex is the entry or the exit of a set.
func (d *declarations) isSetVertex(v int32) bool {
	first := len(d.resources)
	return int(v) >= first && int(v) < first+2*len(d.sets)
}

// setEdges returns the edges of the sets and their memberships.
func (d *declarations) setEdges() []edge {
	var edges []edge
	for s, set := range d.sets {
		in := Reason{Rule: string(set.kind), Detail: "part of " + set.name}
		edges = append(edges, edge{from: d.entry(s), to: d.exit(s), gate: Applied, strength: hard, why: in})
		if w := set.within; w >= 0 {
			around := Reason{Rule: string(set.kind), Detail: set.name + " is part of " + d.sets[w].name}
			edges = append(edges,
				edge{from: d.entry(w), to: d.entry(s), gate: Applied, strength: hard, why: around},
				edge{from: d.exit(s), to: d.exit(w), gate: Applied, strength: hard, why: around})
		}
		for _, b := range set.after {
			edges = append(edges, edge{from: d.exit(b.Layer), to: d.entry(s), weight: 1, strength: hard, why: b.Why})
		}
	}
	for _, m := range d.members {
		s := d.sets[m.set]
		why := Reason{Rule: string(s.kind), Detail: "is in " + s.name}
		if m.in != noEdge {
			edges = append(edges, edge{from: d.entry(m.set), to: int32(m.resource), gate: Applied, strength: m.in, why: why})
		}
		if m.out != noEdge {
			edges = append(edges, edge{from: int32(m.resource), to: d.exit(m.set), gate: s.gate, strength: m.out, why: why})
		}
	}
	return edges
}
