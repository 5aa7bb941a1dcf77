package graph

import (
	"cmp"

	"github.com/ordapply/ordapply/ordering"
)

// Edge says that vertex To waits for vertex From. Vertices are resources and
// the entries and exits of sets.
type Edge struct {
	From, To int32
	Gate     ordering.Gate // what To waits for
	Weight   uint8         // the number of waves between
	Strength Strength      // the effect of a violation
	// Rejects means that the API server rejects To while From is not ready.
	Rejects bool
	Why     ordering.Reason
}

// Yields reports whether a run may let go of the edge when nothing moves any more: the
// cluster itself would retry To, and no author declared that it comes later.
func (e *Edge) Yields() bool {
	return e.Gate != ordering.Applied && e.Strength < Exists && !e.Rejects
}

// Strength says what happens to "B needs A" if B is applied first. Weaker edges
// yield to stronger ones.
type Strength uint8

// Values of Strength, weakest first.
const (
	DefaultPlace Strength = iota // nothing: a default place
	Helps                        // B works eventually, perhaps after some restarts
	Intended                     // B becomes ready without A, but not as intended
	Serves                       // B is of no use before A is ready, and nothing fails meanwhile
	Required                     // B does not become ready before A exists
	Exists                       // the API server rejects B without A
	Certain                      // B, once applied, becomes ready only when A exists
	Hard                         // declared by the author; never dropped
)

// NewEdge returns an edge between two resources.
func NewEdge(from, to int, gate ordering.Gate, s Strength, why ordering.Reason) Edge {
	return Edge{From: int32(from), To: int32(to), Gate: gate, Weight: WavesBetween(gate), Strength: s, Why: why}
}

// WavesBetween returns the number of waves between two ends of an edge with a gate.
func WavesBetween(g ordering.Gate) uint8 {
	if g == ordering.Ready {
		return 1
	}
	return 0
}

// DelaysReadiness reports whether B, applied before A, becomes ready only after it.
func (s Strength) DelaysReadiness() bool { return s == Required || s == Serves }

// strongestFirst orders edges by strength, then by target and source, so that
// the result does not depend on the order of the stream.
func strongestFirst(a, b Edge) int {
	return cmp.Or(
		cmp.Compare(b.Strength, a.Strength),
		cmp.Compare(a.To, b.To),
		cmp.Compare(a.From, b.From),
		cmp.Compare(a.Gate, b.Gate),
		cmp.Compare(a.Why.Rule, b.Why.Rule),
		cmp.Compare(a.Why.Detail, b.Why.Detail),
	)
}
