package ordering_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Each testdata/consolidate/*.txtar is a stream with sync waves and what becomes
// of them when all that is not proven is assumed. `make golden` rewrites it.
func TestConsolidate(t *testing.T) {
	cases, err := filepath.Glob("testdata/consolidate/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			resources, options := input(t, archive)
			consolidation, err := ordering.Consolidate(resources, options, ordering.Target{AssumeIndependent: true})
			require.NoError(t, err)
			last := &archive.Files[len(archive.Files)-1]
			got := consolidated(consolidation)
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				last.Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(last.Data), got)
			requireSameOrder(t, resources, consolidation, options, path)
		})
	}
}

// Random streams with sync waves: no order is lost, and none is left to merge.
func TestConsolidateAnyStream(t *testing.T) {
	consolidated := 0
	for seed := range uint64(2000) {
		w := newWorld(seed)
		w.options.Frame = ordering.FrameArgoCD
		c, err := ordering.Consolidate(w.resources, w.options, ordering.Target{AssumeIndependent: true})
		if err != nil {
			continue
		}
		consolidated++
		requireSameOrder(t, w.resources, c, w.options, fmt.Sprintf("seed %d", seed))
	}
	require.Greater(t, consolidated, 100)
}

func consolidated(c *ordering.Consolidation) string {
	var b strings.Builder
	for _, w := range c.Waves {
		fmt.Fprintf(&b, "%s %d: now %d, %s: %s\n", w.Phase, w.Wave, w.To, w.Boundary, w.Because)
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.Renumbered), object.Compare) {
		fmt.Fprintf(&b, "%s: now %d\n", id, c.Renumbered[id])
	}
	return b.String()
}

// requireSameOrder plans the stream with its new numbers: every edge that held
// holds, old waves keep their sequence, and consolidating again changes
// nothing. An edge that the old waves contradicted may hold in addition.
func requireSameOrder(t *testing.T, resources []ordering.Resource, c *ordering.Consolidation, options ordering.Options, name string) {
	t.Helper()
	for i, w := range c.Waves[1:] {
		if before := c.Waves[i]; before.Phase == w.Phase {
			require.LessOrEqual(t, before.To, w.To, name)
			require.Equal(t, w.Boundary == ordering.Kept, before.To < w.To, "%s: %s %d", name, w.Phase, w.Wave)
		}
	}
	options.Frame = ordering.FrameArgoCD
	old, err := ordering.Build(resources, options)
	require.NoError(t, err, name)
	renumbered := renumber(resources, c)
	now, err := ordering.Build(renumbered, options)
	require.NoError(t, err, name)
	require.Subset(t, allNeeds(now), allNeeds(old), name)
	again, err := ordering.Consolidate(renumbered, options, ordering.Target{AssumeIndependent: true})
	require.NoError(t, err, name)
	require.Empty(t, again.Renumbered, name)
}

func renumber(resources []ordering.Resource, c *ordering.Consolidation) []ordering.Resource {
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

// allNeeds are the edges of a plan, as text.
func allNeeds(plan *ordering.Plan) map[string]bool {
	needs := map[string]bool{}
	for _, s := range plan.Steps {
		for _, n := range s.Needs {
			needs[fmt.Sprintf("%s needs %s %s (%s)", s.ID, n.ID, n.Gate, n.Why)] = true
		}
	}
	return needs
}
