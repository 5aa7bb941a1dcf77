package edges

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// Every cycle has at least one edge, even of a resource that waits for itself.
func TestNoCycleIsWithoutAnEdge(t *testing.T) {
	b := &Dependencies{Declarations: &Declarations{Index: &references.Index{}}}
	s := b.AddSet(Set{Name: "stack a", Kind: ordering.StackLayer, Within: -1})
	why := ordering.Reason{Rule: "stack", Detail: "dependsOn of stack a names a"}
	inside, back := graph.Edge{From: b.Entry(s), To: b.Exit(s), Strength: graph.Hard}, graph.Edge{From: b.Exit(s), To: b.Entry(s), Weight: 1, Strength: graph.Hard, Why: why}
	for _, cycle := range [][]graph.Edge{{inside, back}, {back, inside}} {
		require.EqualError(t, b.CycleError(cycle), "a cycle of 1: none of these can be first; remove one of the edges\n  stack a waits for stack a (stack: dependsOn of stack a names a)")
	}
}
