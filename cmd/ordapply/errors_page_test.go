package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every message in docs/errors.md has an existing test.
func TestErrorsPageIsShown(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "errors.md"))
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| message ") {
			continue
		}
		rows++
		cells := regexp.MustCompile(`(?:[^\\])\| `).Split(strings.TrimSpace(line), -1)
		shown := regexp.MustCompile(`\[(\w+)\]\(\.\./([^)]+)\)`).FindAllStringSubmatch(cells[len(cells)-1], -1)
		require.NotEmpty(t, shown, "no test: %s", line)
		for _, link := range shown {
			text, err := os.ReadFile(filepath.Join("..", "..", link[2]))
			require.NoError(t, err, line)
			if strings.HasSuffix(link[2], ".go") {
				require.Contains(t, string(text), "func "+link[1]+"(", line)
			}
		}
	}
	require.Greater(t, rows, 30)
}
