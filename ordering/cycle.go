package ordering

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
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
	From, To string // "Service shop/web", "layer platform/data"; To waits for From
	Why      Reason // its origin
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
