package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// The example of docs/rbac.md is a test: a stream is followed by a command and
// its output. `make golden` updates the output.
func TestRBACPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "rbac.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	example := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```\n```console\n\\$ ordapply rbac -f app.yaml(.*?)\n(.*?)^```\n")
	require.Len(t, example.FindAll(page, -1), 1)
	rewritten := example.ReplaceAllFunc(page, func(found []byte) []byte {
		parts := example.FindSubmatch(found)
		dir := t.TempDir()
		file := filepath.Join(dir, "app.yaml")
		require.NoError(t, os.WriteFile(file, parts[1], 0o600))
		var roles bytes.Buffer
		cmd := newRBAC(console.New(nil, &roles, io.Discard))
		cmd.SetArgs(append(strings.Fields(string(parts[2])), "-f", file, "--kubeconfig", filepath.Join(dir, "none")))
		require.NoError(t, cmd.Execute())
		return []byte("```yaml\n" + string(parts[1]) + "```\n```console\n$ ordapply rbac -f app.yaml" + string(parts[2]) + "\n" + roles.String() + "```\n")
	})
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, rewritten, 0o644))
		return
	}
	require.Equal(t, string(page), string(rewritten))
}
