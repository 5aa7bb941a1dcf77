package ordering_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// A part of a plan keeps the order of the remaining resources and refers to no
// others.
func TestFilterKeepsTheOrder(t *testing.T) {
	planned := 0
	for seed := range seeds.UpTo(300) {
		w := plancase.NewWorld(seed)
		plan, err := planner.Build(w.Resources, w.Options)
		if err != nil {
			continue
		}
		planned++
		left := map[object.ID]bool{}
		for i, s := range plan.Steps {
			left[s.ID] = (uint64(i)+seed)%3 != 0
		}
		name := fmt.Sprintf("seed %d", seed)
		part := plan.Filter(func(id object.ID) bool { return left[id] })
		waves, before := map[object.ID]int{}, map[object.ID]int{}
		for _, s := range plan.Steps {
			before[s.ID] = s.Wave
		}
		for i, s := range part.Steps {
			require.True(t, left[s.ID], name)
			require.Less(t, s.ReadyBy, len(part.Waves), name)
			require.LessOrEqual(t, s.Wave, s.ReadyBy, name)
			waves[s.ID] = s.Wave
			if i > 0 {
				last := part.Steps[i-1].ID
				require.Equal(t, before[last] < before[s.ID], waves[last] < s.Wave, name)
			}
			for _, need := range s.Needs {
				require.True(t, left[need.ID], name)
				require.LessOrEqual(t, waves[need.ID], s.Wave, name)
			}
		}
	}
	require.Greater(t, planned, int(seeds.UpTo(50)))
}

// A part of a deletion keeps the names of the waves that remain.
func TestFilterKeepsTheNamesOfWaves(t *testing.T) {
	id := func(name string) object.ID { return object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name} }
	all := ordering.Deletion{
		Steps: []ordering.DeletionStep{{ID: id("web")}, {ID: id("api"), Wave: 1}, {ID: id("db"), Wave: 2}},
		Waves: 3, Names: []string{"web", "api", "data"},
	}
	part := all.Filter(func(i object.ID) bool { return i.Name != "api" })
	require.Equal(t, []string{"web", "data"}, part.Names)
	require.Equal(t, "wave 2/2 (data)", part.Plan().WaveTitle(1))
}
