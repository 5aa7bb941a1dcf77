package plancase

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
)

// Golden runs a test for each testdata/*.txtar: of returns the contents of the last file of the
// archive, given its stream and its options. `make golden` rewrites that file.
func Golden(t *testing.T, of func(t *testing.T, resources []ordering.Resource, options ordering.Options) string) {
	t.Helper()
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			resources, options := Input(t, archive)
			got, last := of(t, resources, options), &archive.Files[len(archive.Files)-1]
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				last.Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(last.Data), got)
		})
	}
}
