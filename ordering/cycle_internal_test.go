package ordering

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every cycle has at least one edge, even that of a resource that waits for
// itself.
func TestNoCycleIsWithoutAnEdge(t *testing.T) {
	b := &builder{declarations: &declarations{index: &index{}}}
	s := b.addSet(set{name: "stack a", kind: StackLayer, within: -1})
	why := Reason{Rule: "stack", Detail: "dependsOn of stack a names a"}
	inside, back := edge{from: b.entry(s), to: b.exit(s), strength: hard}, edge{from: b.exit(s), to: b.entry(s), weight: 1, strength: hard, why: why}
	for _, cycle := range [][]edge{{inside, back}, {back, inside}} {
		require.EqualError(t, b.cycleError(cycle), "a cycle of 1: none of these can be first; remove one of the edges\n  stack a waits for stack a (stack: dependsOn of stack a names a)")
	}
	require.Len(t, new(CycleError).Cycle(), 1)
}
