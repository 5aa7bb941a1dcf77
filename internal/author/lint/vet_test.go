package lint_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
	"github.com/ordapply/ordapply/test/seeds"
)

// Each testdata/*.txtar is a stream and its findings. `make golden` updates
// it.
func TestVet(t *testing.T) {
	plancase.Golden(t, func(_ *testing.T, resources []ordering.Resource, options ordering.Options) string {
		var b strings.Builder
		for _, f := range lint.Check(resources, options) {
			fmt.Fprintf(&b, "problem %t: %s\n", f.Problem, f.Text)
		}
		return b.String()
	})
}

// The findings of Vet do not depend on the order of the stream. It reports a
// problem exactly if there is no plan or a name is misspelt.
func TestVetOfAnyStream(t *testing.T) {
	for seed := range seeds.UpTo(1000) {
		w := plancase.NewWorld(seed)
		_, err := planner.Build(w.Resources, w.Options)
		found := lint.Check(w.Resources, w.Options)
		shuffled := slices.Clone(w.Resources)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.Equal(t, found, lint.Check(shuffled, w.Options), "seed %d", seed)
		problem := slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Problem })
		require.Equal(t, err != nil, problem, "seed %d: %v", seed, found)
	}
}
