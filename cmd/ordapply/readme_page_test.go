package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
)

// README.md shows examples/by-kind.yaml, and lines of the plan that its command prints.
func TestReadmePage(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	order, err := os.ReadFile(filepath.Join("examples", "by-kind.yaml"))
	require.NoError(t, err)
	_, shownOrder, _ := strings.Cut(string(order), "\n") // without the line for editors
	require.Contains(t, string(text), "```yaml\n"+shownOrder+"```\n")
	shown := regexp.MustCompile("(?m)^bin/ordapply (plan .*)\n```\n\n```console\n((?s:.*?))^```\n").FindStringSubmatch(string(text))
	require.NotNil(t, shown)
	code, plan := offlineRun(strings.Fields(shown[1])...)
	require.Equal(t, report.ExitDone, code, plan)
	for line := range strings.Lines(shown[2]) {
		if strings.TrimSpace(line) != "…" {
			require.Contains(t, plan, line)
		}
	}
}
