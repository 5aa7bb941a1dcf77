package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples of the proposals, in the testdata folder of the repository, give the
// plans that stand beside them. ORDAPPLY_GOLDEN=1 writes these anew.
func TestExamplesOfTheProposals(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "stream.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, stream := range folders {
		folder := filepath.Dir(stream)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Chdir(folder)
			args := []string{"plan", "--dry-run=client", "-f", "stream.yaml"}
			if _, err := os.Stat("order.yaml"); err == nil {
				args = append(args, "--order", "order.yaml")
			}
			var out, said bytes.Buffer
			require.Equal(t, exitDone, run(context.Background(), args, strings.NewReader(""), &out, &said), said.String())
			got := out.String() + said.String()
			if os.Getenv("ORDAPPLY_GOLDEN") != "" {
				require.NoError(t, os.WriteFile("plan.txt", []byte(got), 0o644))
			}
			want, err := os.ReadFile("plan.txt")
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// The second example of kustomize's KEP is refused: the first selector matches all that
// the second one does.
func TestSupersetOfTheProposal(t *testing.T) {
	folder := filepath.Join("..", "..", "testdata", "kustomize-kep")
	var out, said bytes.Buffer
	code := run(context.Background(), []string{"plan", "--dry-run=client", "-f", filepath.Join(folder, "stream.yaml"), "--order", filepath.Join(folder, "superset.yaml")}, strings.NewReader(""), &out, &said)
	require.Equal(t, exitFailed, code)
	require.Contains(t, said.String(), "can never match")
}
