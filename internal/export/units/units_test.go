package units_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	exportunits "github.com/ordapply/ordapply/internal/export/units"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
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
		if plan, err := planner.Build(resources, options); err == nil {
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
		if plan, err := planner.Build(w.Resources, w.Options); err == nil {
			requireGates(t, plan, fmt.Sprintf("seed %d", seed))
			checked++
		}
	}
	require.Greater(t, checked, 100)
}

// requireGates checks units against the plan alone: across waves, the unit of a step is
// behind its prerequisite's, and behind one that checks it if it must be ready.
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
					requireBehind(i, at[n.ID], n.Gate == ordering.Ready)
				}
			}
			for _, b := range s.After {
				for j := range plan.Steps {
					if slices.Contains(plan.Steps[j].Layers, b.Layer) {
						requireBehind(i, j, plan.Steps[j].Gate == ordering.Ready)
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

// Intercepted objects wait in an engine for the webhook's configuration and for the workload
// that answers and fills its CA bundle: these two are applied together, and checked together.
func TestAWorkloadThatAnswersIsCheckedWithItsCaller(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/webhook.txtar")
	require.NoError(t, err)
	plan, err := planner.Build(plancase.Input(t, archive))
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

// ancestors returns each unit's direct and indirect predecessors.
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

// Compare names every file that an edit changed, and Write restores it. A folder beside the
// tree's is left alone.
func TestEveryEditIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tree := &exportunits.Tree{}
	paths := []string{exportunits.OptionsFile, "flux/source.yaml", "flux/kustomizations.yaml", "layers/a/pod-a.yaml", "layers/b/pod-b.yaml"}
	require.NoError(t, tree.AddOptions(map[string]any{"to": "flux"}, nil))
	for _, path := range paths[1:] {
		require.NoError(t, tree.Add(path, []byte("# "+path+"\na: 1\n")))
	}
	dir := t.TempDir()
	foreign := filepath.Join(dir, "charts", "readme.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(foreign), 0o755))
	require.NoError(t, os.WriteFile(foreign, []byte("text"), 0o644))
	differences, err := tree.Compare(t.Context(), dir)
	require.NoError(t, err)
	require.Len(t, differences, len(paths), "all are missing")
	changed, err := tree.Write(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, len(paths), changed)
	for range 200 {
		want := map[string]string{}
		for _, path := range append(paths, "layers/a/more.yaml", "flux/readme.md") {
			file := filepath.Join(dir, path)
			switch edit, isOurs := random.IntN(4), slices.Contains(paths, path); {
			case isOurs && edit == 0 && path != exportunits.OptionsFile: // without it, nothing says that an export wrote the folder
				require.NoError(t, os.Remove(file))
				want[path] = path + ": missing"
			case isOurs && edit == 1:
				text := slices.Clone(tree.Files[path])
				text = slices.Insert(text, random.IntN(2)*len(text), []byte("# x\n")...)
				require.NoError(t, os.WriteFile(file, text, 0o644))
				want[path] = path + ": differs from the export"
			case !isOurs && edit == 2:
				require.NoError(t, os.WriteFile(file, []byte("a: 1\n"), 0o644))
				want[path] = path + ": not part of the export"
			}
		}
		differences, err := tree.Compare(t.Context(), dir)
		require.NoError(t, err)
		got := map[string]string{}
		for _, d := range differences {
			got[d.Path] = d.String()
		}
		require.Equal(t, want, got)
		changed, err := tree.Write(t.Context(), dir)
		require.NoError(t, err)
		require.Equal(t, len(want), changed)
		differences, err = tree.Compare(t.Context(), dir)
		require.NoError(t, err)
		require.Empty(t, differences)
	}
	require.FileExists(t, foreign)
}
