package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The man page is the text of --help; `make share` sets ORDAPPLY_SHARE and keeps it.
func TestManPage(t *testing.T) {
	root := os.Getenv("ORDAPPLY_SHARE")
	if root == "" {
		root = t.TempDir()
	}
	summary, rest, found := strings.Cut(usage, "\n\n")
	require.True(t, found)
	name, does, found := strings.Cut(strings.TrimSuffix(summary, "."), " ")
	require.True(t, found)
	body := strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace(rest)
	page := fmt.Sprintf(".TH SORTORDER 1 \"\" sortorder \"ordapply Manual\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B sortorder\n[\\-\\-order FILE] [\\-\\-marks | \\-\\-check | \\-\\-explain]\n.SH DESCRIPTION\n.nf\n%s.fi\n.SH SEE ALSO\n.BR ordapply (1)\n", name, does, body)
	dir := filepath.Join(root, "sortorder", "man", "man1")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	file := filepath.Join(dir, "sortorder.1")
	require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed: the page is not formatted")
	}
	out, err := exec.Command(groff, "-man", "-Tascii", "-ww", file).CombinedOutput()
	require.NoError(t, err)
	for _, text := range []string{"--order FILE  the SortOrder", "sortorder schema", "Exit codes: 0 success"} {
		require.Contains(t, strings.ReplaceAll(string(out), "\x1b[0m", ""), text)
	}
	require.NotContains(t, string(out), "warning")
}
