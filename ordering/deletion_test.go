package ordering_test

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

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// Each testdata/deletion/*.txtar is a stream and its order of deletion. `make
// golden` updates it.
func TestDeletionOrder(t *testing.T) {
	cases, err := filepath.Glob("testdata/deletion/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			resources, options := plancase.Input(t, archive)
			got := deletion(planner.DeletionOrder(resources, options))
			last := &archive.Files[len(archive.Files)-1]
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				last.Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(last.Data), got)
			for range 20 {
				rand.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
				require.Equal(t, got, deletion(planner.DeletionOrder(resources, options)))
			}
		})
	}
}

func deletion(d *ordering.Deletion, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range d.Steps {
		fmt.Fprintf(&b, "%s: %s\n", d.Plan().WaveTitle(s.Wave), s.ID)
		for _, n := range s.After {
			fmt.Fprintf(&b, "  after %s, %s\n", n.ID, n.Gate)
		}
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// Every plan has a deletion: each resource once, after all its dependents, in
// waves that reverse the layers; custom resources before their CRDs, and
// namespaced resources before their Namespace.
func TestDeletionOfAnyPlan(t *testing.T) {
	for seed := range seeds.UpTo(2000) {
		w := plancase.NewWorld(seed)
		plan, err := planner.Build(w.Resources, w.Options)
		if err != nil {
			continue
		}
		name := fmt.Sprintf("seed %d", seed)
		d, err := planner.DeletionOrder(w.Resources, w.Options)
		require.NoError(t, err, name)
		require.Len(t, d.Steps, len(plan.Steps), name)
		wave := map[object.ID]int{}
		for _, s := range d.Steps {
			wave[s.ID] = s.Wave
			for _, n := range s.After {
				require.LessOrEqual(t, wave[n.ID], s.Wave, name)
				require.False(t, n.Gate == ordering.Ready && wave[n.ID] == s.Wave, name)
			}
		}
		require.Len(t, wave, len(plan.Steps), name)
		for _, s := range plan.Steps {
			for _, n := range s.Needs {
				require.LessOrEqual(t, wave[s.ID], wave[n.ID], "%s: %s is deleted before %s, which needs it", name, n.ID, s.ID)
			}
			for _, barrier := range s.After {
				for _, other := range plan.Steps {
					if slices.Contains(other.Layers, barrier.Layer) && s.Why.Rule != "needed" {
						require.Less(t, wave[s.ID], wave[other.ID], "%s: %s is deleted before %s", name, other.ID, s.ID)
					}
				}
			}
		}
	}
}
