package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
)

// The examples of docs/ordering.md are tests: each stream is followed by its
// plan. `make golden` updates the plans.
func TestOrderingPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "ordering.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	example := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```\n```text\n(.*?)^```\n")
	require.NotEmpty(t, example.FindAll(page, -1))
	rewritten := example.ReplaceAllFunc(page, func(found []byte) []byte {
		parts := example.FindSubmatch(found)
		file := filepath.Join(t.TempDir(), "stream.yaml")
		require.NoError(t, os.WriteFile(file, parts[1], 0o600))
		code, plan := offlineRun("plan", "--dry-run=client", "-f", file)
		require.Equal(t, report.ExitDone, code, plan)
		return []byte("```yaml\n" + string(parts[1]) + "```\n```text\n" + plan + "```\n")
	})
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, rewritten, 0o644))
		return
	}
	require.Equal(t, string(page), string(rewritten))
}
