package draft_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/author/draft"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/plancase"
)

// Each testdata/*.txtar is a stream and its proposed order, the same in any order of
// its documents. `make golden` updates it.
func TestPropose(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			resources, options := plancase.Input(t, archive)
			want := &archive.Files[len(archive.Files)-1]
			for n := range 5 {
				order := string(propose(t, resources, options))
				if n == 0 && os.Getenv("ORDAPPLY_GOLDEN") != "" {
					want.Data = []byte(order)
					require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
				}
				require.Equal(t, string(want.Data), order)
				rand.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
			}
		})
	}
}

func propose(t *testing.T, resources []ordering.Resource, options ordering.Options) []byte {
	t.Helper()
	order, err := draft.Propose(resources, options, "first")
	require.NoError(t, err)
	return order.YAML()
}
