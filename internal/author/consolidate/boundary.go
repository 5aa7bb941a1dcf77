package consolidate

import (
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/object"
)

// Boundary is the outcome for the boundary between a wave and the one before
// it.
type Boundary string

// Values of Boundary.
const (
	BoundaryFirst    Boundary = "first"    // of its phase
	BoundaryKept     Boundary = "kept"     // an edge crosses it
	BoundaryMerged   Boundary = "merged"   // nothing after it can depend on anything before it
	BoundaryUnproven Boundary = "unproven" // no edge crosses it, but a missing edge cannot be ruled out; kept
	BoundaryAssumed  Boundary = "assumed"  // like BoundaryUnproven, but merged because the target asks for it
)

// before counts the new waves before the one that holds the old wave 0, or the
// first wave above it.
func (c *consolidator) before(sets []int, begins []bool) int {
	number := 0
	for i, s := range sets {
		if i > 0 && begins[i] {
			number++
		}
		if c.Sets[s].At.Wave >= 0 {
			return number
		}
	}
	return number + 1
}

// boundary returns whether a set may join the group of waves before it, as
// BoundaryKept, BoundaryMerged or BoundaryUnproven, and the reason.
func (c *consolidator) boundary(group []int, s int) (Boundary, string) {
	for _, before := range group {
		if way, linked := c.between[[2]int{before, s}]; linked {
			return BoundaryKept, c.keptReason(way)
		}
	}
	inert := c.IsInert(c.members[s]) && !slices.ContainsFunc(group, func(g int) bool { return !c.IsInert(c.members[g]) })
	if inert {
		return BoundaryMerged, "their resources are inert, and nothing in the later one refers to anything in the earlier one"
	}
	because := "no edge connects them, but " + c.active(append(slices.Clone(group), s)).String() + " may have dependencies or dependents that no manifest shows"
	return BoundaryUnproven, because
}

// keptReason names the two resources that an edge or a path connects.
func (c *consolidator) keptReason(way edges.PathEnds) string {
	from, to := c.VertexName(way.First.From), c.VertexName(way.Last.To)
	if way.First == way.Last {
		return fmt.Sprintf("%s needs %s (%s)", to, from, way.Last.Why)
	}
	return fmt.Sprintf("%s needs %s through %s (%s)", to, from, c.VertexName(way.Last.From), way.Last.Why)
}

// active returns a resource whose kind may have side effects, so that
// independence is not proven.
func (c *consolidator) active(sets []int) object.ID {
	for _, s := range slices.Backward(sets) {
		for _, i := range c.members[s] {
			if !edges.IsInertKind(c.Resources[i].ID.GroupKind()) {
				return c.Resources[i].ID
			}
		}
	}
	return object.ID{}
}
