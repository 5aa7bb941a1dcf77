package ordering_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
)

// The header of a run names the rules that order it.
func TestOrderedBy(t *testing.T) {
	for name, want := range map[string]string{
		"chart_and_stamps":         "order: shop",
		"two_orders_in_one_stream": "order: app, infra",
		"edge_apiservice":          "no SortOrder: references only",
		"claim_bound_on_use":       "no SortOrder: annotations and references",
		"argocd_phases_and_waves":  "no SortOrder: Argo CD waves and references",
		"chart_groups_inside":      "no SortOrder: Helm groups, charts and references",
		"kapp_rules":               "no SortOrder: kapp change groups and references",
		"stack_waits_for_stack":    "no SortOrder: stacks and references",
	} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		require.NoError(t, err)
		resources, options := plancase.Input(t, archive)
		plan, err := planner.Build(resources, options)
		require.NoError(t, err, name)
		require.Equal(t, want, plan.OrderedBy(), name)
		require.Equal(t, "no order", plan.Unordered().OrderedBy(), name)
		all := func(object.ID) bool { return true }
		require.Equal(t, "no order", plan.Unordered().Filter(all).OrderedBy(), name)
	}
	named := &ordering.Plan{Waves: []ordering.Wave{{Name: "unordered"}}}
	require.Equal(t, "no SortOrder: references only", named.OrderedBy(), "the name of a wave decides nothing")
}
