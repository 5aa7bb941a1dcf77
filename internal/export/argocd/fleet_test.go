package argocd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/fleet"
)

func parseFleet(t *testing.T, text string) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Parse("fleet.yaml", []byte("{apiVersion: ordapply.dev/v1alpha1, kind: Fleet, "+text+"}"))
	require.NoError(t, err)
	return f
}

// A percentage is rounded as ordapply does, up; a limit that limits nothing is left out.
func TestRollout(t *testing.T) {
	elements, steps := rollout(parseFleet(t, `clusters: [{name: a, labels: {x: "1"}}, {name: b}, {name: c}, {name: d}],
		cohorts: [{name: one, clusters: [d], maxParallel: 1}, {name: two, clusters: [c, b, a], maxParallel: 34%}]`))
	require.Equal(t, []object{
		{"cluster": "d", "cohort": "one"}, {"cluster": "c", "cohort": "two"}, {"cluster": "b", "cohort": "two"},
		{"cluster": "a", "cohort": "two", "labels": map[string]string{"x": "1"}},
	}, elements)
	require.Equal(t, []object{
		{"matchExpressions": []object{{"key": cohortLabel, "operator": "In", "values": []string{"one"}}}},
		{"matchExpressions": []object{{"key": cohortLabel, "operator": "In", "values": []string{"two"}}}, "maxUpdate": 2},
	}, steps)
}

// Names of Applications and labels have rules that names of a fleet need not follow.
func TestCheckFleet(t *testing.T) {
	require.NoError(t, CheckFleet(parseFleet(t, `clusters: [{name: eu-1.prod}], cohorts: [{name: First_Wave, clusters: [eu-1.prod]}]`), "shop"))
	err := CheckFleet(parseFleet(t, `clusters: [{name: EU}, {name: us}], cohorts: [{name: all of it, clusters: [EU, us]}]`), "shop")
	require.ErrorContains(t, err, "cohort all of it: the Applications have its name as a label")
	require.ErrorContains(t, err, "cluster EU: its Application is named shop-EU")
	require.NotContains(t, err.Error(), "cluster us")
}
