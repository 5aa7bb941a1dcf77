package ordering_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/plancase"
	"github.com/ordapply/ordapply/ordering"
)

// Each testdata/vet/*.txtar is a stream and its findings. `make golden` updates
// it.
func TestVet(t *testing.T) {
	cases, err := filepath.Glob("testdata/vet/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			resources, options := plancase.Input(t, archive)
			var b strings.Builder
			for _, f := range ordering.Vet(resources, options) {
				fmt.Fprintf(&b, "problem %t: %s\n", f.Problem, f.Text)
			}
			last := &archive.Files[len(archive.Files)-1]
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				last.Data = []byte(b.String())
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(last.Data), b.String())
		})
	}
}
