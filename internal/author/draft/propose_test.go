package draft_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/author/draft"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/plancase"
)

// Each testdata/*.txtar is a stream and its proposed order, the same in any order of
// its documents. `make golden` updates it.
func TestPropose(t *testing.T) {
	plancase.Golden(t, func(t *testing.T, resources []ordering.Resource, options ordering.Options) string {
		order := string(propose(t, resources, options))
		for range 4 {
			rand.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
			require.Equal(t, order, string(propose(t, resources, options)))
		}
		return order
	})
}

func propose(t *testing.T, resources []ordering.Resource, options ordering.Options) []byte {
	t.Helper()
	order, err := draft.Propose(resources, options, "first")
	require.NoError(t, err)
	return order.YAML()
}
