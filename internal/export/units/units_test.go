package units_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	exportunits "github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// The units of every plan of the tests of ordering, and of random streams, keep the plan's
// gates.
func TestUnitsKeepTheGates(t *testing.T) {
	files, err := filepath.Glob("../../../ordering/testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	checked := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		resources, options := plancase.Input(t, archive)
		if plan, err := ordering.Build(resources, options); err == nil {
			requireGates(t, plan, file)
			checked++
		}
	}
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		w := plancase.NewWorld(seed)
		if plan, err := ordering.Build(w.Resources, w.Options); err == nil {
			requireGates(t, plan, fmt.Sprintf("seed %d", seed))
			checked++
		}
	}
	require.Greater(t, checked, 100)
}

// requireGates checks units against the plan alone: what waits across waves is in a unit
// behind that of what it waits for, and behind one that checks it if it must be ready.
func requireGates(t *testing.T, plan *ordering.Plan, name string) {
	t.Helper()
	for _, instant := range []bool{true, false} {
		units := exportunits.Units(plan, func(int) bool { return instant }).Units
		unitOf, names := map[int]int{}, map[string]bool{}
		for u, unit := range units {
			require.False(t, names[unit.Name], "%s: two units %s", name, unit.Name)
			names[unit.Name] = true
			for _, before := range unit.After {
				require.Less(t, before, u, name)
			}
			for _, i := range unit.Steps {
				_, twice := unitOf[i]
				require.False(t, twice, "%s: %s is in two units", name, plan.Steps[i].ID)
				unitOf[i] = u
			}
		}
		require.Len(t, unitOf, len(plan.Steps), name)
		above := ancestors(units)
		at := plan.Positions()
		requireBehind := func(i, from int, ready bool) {
			u, before := unitOf[i], unitOf[from]
			require.True(t, above[u][before], "%s: %s waits for %s, and its unit %s does not come after %s", name, plan.Steps[i].ID, plan.Steps[from].ID, units[u].Name, units[before].Name)
			if ready {
				require.True(t, slices.ContainsFunc(units, func(c exportunits.Unit) bool {
					return slices.Contains(c.Checks, from) && above[u][slices.IndexFunc(units, func(o exportunits.Unit) bool { return o.Name == c.Name })]
				}), "%s: %s waits until %s is ready, and nothing before it checks that", name, plan.Steps[i].ID, plan.Steps[from].ID)
			}
		}
		for i, s := range plan.Steps {
			for _, n := range s.Needs {
				if plan.Steps[at[n.ID]].Wave < s.Wave || n.Hard {
					requireBehind(i, at[n.ID], n.Gate == graph.Ready)
				}
			}
			for _, b := range s.After {
				for j := range plan.Steps {
					if slices.Contains(plan.Steps[j].Layers, b.Layer) {
						requireBehind(i, j, plan.Steps[j].Gate == graph.Ready)
					}
				}
			}
			if instant {
				continue
			}
			if s.ReadyBy > s.Wave && !answers(plan, i) {
				require.NotContains(t, units[unitOf[i]].Checks, i, "%s: %s cannot be ready before a later wave", name, s.ID)
			}
		}
	}
}

// answers reports whether a step is a workload behind a Service, or calls one, so that
// something that is called is ready only with it.
func answers(plan *ordering.Plan, step int) bool {
	return slices.ContainsFunc(plan.Steps[step].Needs, func(n ordering.Need) bool {
		return n.Why.Rule == "service" || n.Why.Rule == "backend"
	})
}

// What a webhook intercepts waits in an engine for the configuration and for the workload that
// answers and fills its CA bundle: these two are applied together, and checked together.
func TestAWorkloadThatAnswersIsCheckedWithItsCaller(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/webhook.txtar")
	require.NoError(t, err)
	plan, err := ordering.Build(plancase.Input(t, archive))
	require.NoError(t, err)
	at := map[string]int{}
	for i, s := range plan.Steps {
		at[s.ID.Kind] = i
	}
	require.Greater(t, plan.Steps[at["Deployment"]].ReadyBy, plan.Steps[at["Deployment"]].Wave, "no wave of ordapply waits for the Deployment itself")
	cut := exportunits.Units(plan, func(int) bool { return false })
	unitOf := map[string]int{}
	for u, unit := range cut.Units {
		for _, i := range unit.Steps {
			unitOf[plan.Steps[i].ID.Kind] = u
		}
	}
	caller := cut.Units[unitOf["MutatingWebhookConfiguration"]]
	require.Equal(t, unitOf["MutatingWebhookConfiguration"], unitOf["Deployment"])
	require.Subset(t, caller.Checks, []int{at["MutatingWebhookConfiguration"], at["Deployment"]})
	require.Equal(t, []int{unitOf["Deployment"]}, cut.With[at["Deployment"]])
	require.Greater(t, unitOf["Widget"], unitOf["Deployment"])
	require.Contains(t, ancestors(cut.Units)[unitOf["Widget"]], unitOf["Deployment"])
}

// ancestors returns for each unit those it comes after, directly or not.
func ancestors(units []exportunits.Unit) []map[int]bool {
	above := make([]map[int]bool, len(units))
	for u, unit := range units {
		above[u] = map[int]bool{}
		for _, before := range unit.After {
			above[u][before] = true
			for a := range above[before] {
				above[u][a] = true
			}
		}
	}
	return above
}

func TestLabel(t *testing.T) {
	for text, want := range map[string]string{
		"shop/storage": "shop-storage", "Sync wave -1": "sync-wave-1", "Ä": "unnamed",
		strings.Repeat("ab-", 20): "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a",
	} {
		require.Equal(t, want, exportunits.Label(text))
	}
}
