package ordering

import "cmp"

// edge says that vertex to waits for vertex from. Vertices are resources and
// the two ends of sets (see vertices.go).
type edge struct {
	from, to int32
	gate     Gate     // what is waited for of from
	weight   uint8    // how many waves lie between
	strength strength // what it means when it does not hold
	why      Reason
}

// strength says what becomes of "B needs A" when B goes first. Weaker edges
// give way to stronger ones.
type strength uint8

const (
	place    strength = iota // nothing: a place by default, which nobody asked for
	helps                    // B works in the end, perhaps after some restarts
	intended                 // B becomes ready without A, but not as its author means it
	required                 // B does not become ready before A is there
	exists                   // the API server does not accept B without A
	certain                  // B, being applied, becomes ready only when A is there
	hard                     // the author said so, and that is that
)

// resourceEdge is an edge between two resources.
func resourceEdge(from, to int, gate Gate, s strength, why Reason) edge {
	return edge{from: int32(from), to: int32(to), gate: gate, weight: weight(gate), strength: s, why: why}
}

func weight(g Gate) uint8 {
	if g == Ready {
		return 1
	}
	return 0
}

// strongestFirst orders edges by strength; equal ones by who needs, then by
// what is needed, so that the stream's order does not matter.
func strongestFirst(a, b edge) int {
	return cmp.Or(
		cmp.Compare(b.strength, a.strength),
		cmp.Compare(a.to, b.to),
		cmp.Compare(a.from, b.from),
		cmp.Compare(a.gate, b.gate),
		cmp.Compare(a.why.Rule, b.why.Rule),
		cmp.Compare(a.why.Detail, b.why.Detail),
	)
}
