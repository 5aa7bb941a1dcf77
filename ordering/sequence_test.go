package ordering_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// Every sequence contains each step once, after everything it needs and after all earlier waves,
// except that steps without dependents or layers are last; within a wave, a step precedes one of
// an earlier layer only if another step needs it there.
func TestSequenceOfAnyPlan(t *testing.T) {
	for seed := range seeds.UpTo(2000) {
		w := plancase.NewWorld(seed)
		plan, err := planner.Build(w.Resources, w.Options)
		if err != nil {
			continue
		}
		name := fmt.Sprintf("seed %d", seed)
		sequence := plan.Sequence()
		require.Len(t, sequence, len(plan.Steps), name)
		at := map[object.ID]int{}
		for n, i := range sequence {
			at[plan.Steps[i].ID] = n
			if n > 0 {
				before, s := plan.Steps[sequence[n-1]], plan.Steps[i]
				require.True(t, isUnused(plan, s) || before.Wave <= s.Wave && !isUnused(plan, before), name)
			}
		}
		require.Len(t, at, len(plan.Steps), name)
		for _, s := range plan.Steps {
			for _, n := range s.Needs {
				require.Less(t, at[n.ID], at[s.ID], "%s: %s needs %s", name, s.ID, n.ID)
			}
		}
		requireNoIdleSwap(t, plan, sequence, name)
	}
}

func isUnused(plan *ordering.Plan, s ordering.Step) bool {
	return s.PlacedByDependents() && !slices.ContainsFunc(plan.Steps, func(other ordering.Step) bool {
		return slices.ContainsFunc(other.Needs, func(n ordering.Need) bool { return n.ID == s.ID })
	})
}

// requireNoIdleSwap checks that no two neighbours of a wave could be swapped
// for a better order: by layer, then by ID.
func requireNoIdleSwap(t *testing.T, plan *ordering.Plan, sequence []int, name string) {
	t.Helper()
	layer := func(s ordering.Step) int {
		return slices.IndexFunc(plan.Layers, func(l ordering.Layer) bool { return l.Name == s.Layer })
	}
	for n := 1; n < len(sequence); n++ {
		a, b := plan.Steps[sequence[n-1]], plan.Steps[sequence[n]]
		needed := slices.ContainsFunc(b.Needs, func(need ordering.Need) bool { return need.ID == a.ID })
		if a.Wave != b.Wave || needed || isUnused(plan, a) != isUnused(plan, b) {
			continue
		}
		require.LessOrEqual(t, layer(a), layer(b), "%s: %s stands before %s", name, a.ID, b.ID)
		if layer(a) == layer(b) {
			require.Negative(t, object.Compare(a.ID, b.ID), "%s: %s stands before %s", name, a.ID, b.ID)
		}
	}
}
