package consolidate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/author/consolidate"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// Each testdata/*.txtar is a stream with sync waves and the result
// of consolidating it with AssumeIndependent. `make golden` updates it.
func TestConsolidate(t *testing.T) {
	plancase.Golden(t, func(t *testing.T, resources []ordering.Resource, options ordering.Options) string {
		consolidation, err := consolidate.Waves(resources, options, consolidate.Target{AssumeIndependent: true})
		require.NoError(t, err)
		requireSameOrder(t, resources, consolidation, options, t.Name())
		return consolidated(consolidation)
	})
}

// Random streams with sync waves: no order is lost, and nothing is left to
// merge.
func TestConsolidateAnyStream(t *testing.T) {
	consolidated := 0
	for seed := range seeds.UpTo(2000) {
		w := plancase.NewWorld(seed)
		w.Options.OrderSource = ordering.OrderSourceArgoCD
		c, err := consolidate.Waves(w.Resources, w.Options, consolidate.Target{AssumeIndependent: true})
		if err != nil {
			continue
		}
		consolidated++
		requireSameOrder(t, w.Resources, c, w.Options, fmt.Sprintf("seed %d", seed))
	}
	require.Greater(t, consolidated, int(seeds.UpTo(100)))
}

// Waves are merged down to the target if edges allow it, and no order that an
// edge requires is lost.
func TestConsolidateIntoFewWavesKeepsEveryOrder(t *testing.T) {
	done, refused, levelled := 0, 0, 0
	for seed := range seeds.UpTo(500) {
		w := plancase.NewWorld(seed)
		w.Options.OrderSource = ordering.OrderSourceArgoCD
		all, err := consolidate.Waves(w.Resources, w.Options, consolidate.Target{AssumeIndependent: true})
		if err != nil {
			continue
		}
		old, err := planner.Build(w.Resources, w.Options)
		require.NoError(t, err)
		fewest := most(all)
		for into := 1; into <= fewest+2; into++ {
			name := fmt.Sprintf("seed %d, into %d", seed, into)
			c, err := consolidate.Waves(w.Resources, w.Options, consolidate.Target{Into: into})
			if into < fewest {
				var few *consolidate.TooFewWavesError
				require.ErrorAs(t, err, &few, name)
				require.Greater(t, few.Fewest, into, name)
				require.Len(t, few.Because, few.Fewest-1, name)
				refused++
				target := consolidate.Target{Into: into, AssumeIndependent: true}
				if c, err = consolidate.Waves(w.Resources, w.Options, target); into < few.Levels {
					require.ErrorAs(t, err, &few, name)
					continue
				}
				if few.Levels < few.Fewest && c != nil && c.Swapped > 0 {
					levelled++
				}
			}
			require.NoError(t, err, name)
			require.LessOrEqual(t, most(c), into, name)
			now, err := planner.Build(renumber(w.Resources, c), w.Options)
			require.NoError(t, err, name)
			require.Subset(t, allNeeds(now), allNeeds(old), name)
			done++
		}
	}
	require.Greater(t, done, int(seeds.UpTo(100)))
	require.Greater(t, refused, int(seeds.UpTo(10)))
	if !testing.Short() { // such streams are rare
		require.Positive(t, levelled, "no stream needed levels")
	}
}

// most returns the largest number of waves of a phase.
func most(c *consolidate.Result) int {
	waves := map[string]map[int]bool{}
	most := 0
	for _, w := range c.Waves {
		phase := w.Application + " " + w.Phase
		if waves[phase] == nil {
			waves[phase] = map[int]bool{}
		}
		waves[phase][w.NewWave] = true
		most = max(most, len(waves[phase]))
	}
	return most
}

// Waves -30 to 50 fit into -3 to 3 (RFC-DEPLOY-0001 §5.4), and resources
// without a number stay in wave 0. If edges forbid it, the error names them.
func TestConsolidateIntoARange(t *testing.T) {
	var docs []string
	for wave := -30; wave <= 50; wave += 5 {
		number := fmt.Sprintf(", annotations: {argocd.argoproj.io/sync-wave: '%d'}", wave)
		if wave == 0 {
			number = ""
		}
		docs = append(docs, fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w%d, namespace: shop%s}\n", wave+30, number))
	}
	resources := plancase.Parse(t, []byte(strings.Join(docs, "---\n")))
	seven := consolidate.Target{Range: &consolidate.WaveRange{Low: -3, High: 3}}
	c, err := consolidate.Waves(resources, ordering.Options{}, seven)
	require.NoError(t, err)
	require.Equal(t, 7, most(c))
	for _, w := range c.Waves {
		require.True(t, -3 <= w.NewWave && w.NewWave <= 3, w)
		require.True(t, w.Wave != 0 || w.NewWave == 0, w)
	}
	chain := slices.Clone(resources)
	for i := range chain[:6] { // -30 before -25 … before 0: six waves before the one that stays 0
		chain[i+1].Annotations = maps.Clone(chain[i+1].Annotations)
		if chain[i+1].Annotations == nil {
			chain[i+1].Annotations = map[string]string{}
		}
		chain[i+1].Annotations["ordapply.dev/depends-on"] = "apps/namespaces/shop/Deployment/" + chain[i].Name
	}
	_, err = consolidate.Waves(chain, ordering.Options{}, seven)
	require.ErrorContains(t, err, "Sync: the waves do not fit into -3..3: resources without a wave stay in wave 0")
	require.ErrorContains(t, err, "\n  wave -25 comes after wave -30: Deployment shop/w5 needs Deployment shop/w0 (depends-on: ")
	_, err = consolidate.Waves(chain, ordering.Options{}, consolidate.Target{Into: 3})
	require.ErrorContains(t, err, "Sync: the limit of 3 waves is too low: the longest path of edges needs 7, and merging only neighbouring waves leaves 7, since these edges lie between them; allow more, or remove some edges\n")
}

func consolidated(c *consolidate.Result) string {
	var b strings.Builder
	for _, w := range c.Waves {
		if w.Application != "" {
			fmt.Fprintf(&b, "%s ", w.Application)
		}
		fmt.Fprintf(&b, "%s %d: now %d, %s: %s\n", w.Phase, w.Wave, w.NewWave, w.Boundary, w.Because)
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.Renumbered), object.Compare) {
		fmt.Fprintf(&b, "%s: now %d\n", id, c.Renumbered[id])
	}
	return b.String()
}

// requireSameOrder plans the stream with its new numbers: all edges still hold,
// old waves keep their sequence, and consolidating again changes nothing. Edges
// that the old waves contradicted may hold in addition.
func requireSameOrder(t *testing.T, resources []ordering.Resource, c *consolidate.Result, options ordering.Options, name string) {
	t.Helper()
	for i, w := range c.Waves[1:] {
		if before := c.Waves[i]; before.Phase == w.Phase && before.Application == w.Application {
			require.LessOrEqual(t, before.NewWave, w.NewWave, name)
			require.Equal(t, w.Boundary == consolidate.BoundaryKept, before.NewWave < w.NewWave, "%s: %s %d", name, w.Phase, w.Wave)
		}
	}
	options.OrderSource = ordering.OrderSourceArgoCD
	old, err := planner.Build(resources, options)
	require.NoError(t, err, name)
	renumbered := renumber(resources, c)
	now, err := planner.Build(renumbered, options)
	require.NoError(t, err, name)
	require.Subset(t, allNeeds(now), allNeeds(old), name)
	again, err := consolidate.Waves(renumbered, options, consolidate.Target{AssumeIndependent: true})
	require.NoError(t, err, name)
	require.Empty(t, again.Renumbered, name)
}

func renumber(resources []ordering.Resource, c *consolidate.Result) []ordering.Resource {
	out := slices.Clone(resources)
	for i, r := range out {
		wave, ok := c.Renumbered[r.ID]
		if !ok {
			continue
		}
		out[i].Annotations = maps.Clone(r.Annotations)
		out[i].Annotations["argocd.argoproj.io/sync-wave"] = fmt.Sprint(wave)
	}
	return out
}

// allNeeds returns the edges of a plan as text.
func allNeeds(plan *ordering.Plan) map[string]bool {
	needs := map[string]bool{}
	for _, s := range plan.Steps {
		for _, n := range s.Needs {
			needs[fmt.Sprintf("%s needs %s %s (%s)", s.ID, n.ID, n.Gate, n.Why)] = true
		}
	}
	return needs
}
