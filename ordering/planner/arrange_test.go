package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// A build may have a resource twice: the place of the first one counts.
func TestArrangePlansTheFirstOfEachID(t *testing.T) {
	of := func(name, layer string, wave int) ordering.Resource {
		s := stamp.Stamp{Order: "shop", Layer: layer, Wave: wave}
		return ordering.Resource{Meta: object.Meta{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}, Version: "v1", Annotations: s.Annotations()}}
	}
	plan := planner.Arrange([]ordering.Resource{of("a", "second", 1), of("b", "first", 0), of("a", "first", 0), of("b", "second", 1)})
	require.Len(t, plan.Steps, 2)
	require.Equal(t, "shop/first", plan.Steps[0].Layer)
	require.Equal(t, "b", plan.Steps[0].ID.Name)
	require.Equal(t, "shop/second", plan.Steps[1].Layer)
	require.Equal(t, "a", plan.Steps[1].ID.Name)
}
