package ordering

import "cmp"

// edge says that vertex to waits for vertex from. Vertices are resources and
// the entries and exits of sets (see set.go).
type edge struct {
	from, to int32
	gate     Gate     // what to waits for
	weight   uint8    // the number of waves between
	strength strength // what happens if it is violated
	why      Reason
}

// strength says what happens to "B needs A" if B is applied first. Weaker edges
// yield to stronger ones.
type strength uint8

const (
	place    strength = iota // nothing: a default place
	helps                    // B works eventually, perhaps after some restarts
	intended                 // B becomes ready without A, but not as intended
	required                 // B does not become ready before A exists
	exists                   // the API server rejects B without A
	certain                  // B, once applied, becomes ready only when A exists
	hard                     // declared by the author; never dropped
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

// strongestFirst orders edges by strength, then by target and source, so that
// the result does not depend on the order of the stream.
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
