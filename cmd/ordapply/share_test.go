package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// shareDir returns the folder for a release's files besides the program: the one that
// ORDAPPLY_SHARE names, which `make share` sets, or one of the test.
func shareDir(t *testing.T, parts ...string) string {
	t.Helper()
	root := os.Getenv("ORDAPPLY_SHARE")
	if root == "" {
		root = t.TempDir()
	}
	dir := filepath.Join(append([]string{root, "ordapply"}, parts...)...)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

// Each command has a man page, with its flags, that groff formats without a warning.
func TestManPages(t *testing.T) {
	dir := shareDir(t, "man", "man1")
	t.Setenv("HOME", "~") // defaults of flags name it
	root := newRoot(new(console.Console))
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	dated := time.Unix(0, 0) // pages of one commit are the same bytes
	if commit, err := exec.Command("git", "log", "-1", "--format=%cI").Output(); err == nil {
		dated, err = time.Parse(time.RFC3339, strings.TrimSpace(string(commit)))
		require.NoError(t, err)
	}
	require.NoError(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "ordapply", Manual: "ordapply Manual", Date: &dated}, dir))
	var pages []string
	for _, cmd := range append(leaves(root), root) {
		page := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		text, err := os.ReadFile(page)
		require.NoError(t, err, "the page of %s", cmd.CommandPath())
		require.NotContains(t, string(text), os.TempDir())
		for _, section := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH SEE ALSO"} {
			require.Contains(t, string(text), section, page)
		}
		for _, f := range listFlags(cmd.LocalNonPersistentFlags()) {
			require.Contains(t, strings.ReplaceAll(string(text), `\-`, "-"), "--"+f.Name, page)
		}
		pages = append(pages, page)
	}
	requireFormatted(t, pages...)
}

// requireFormatted checks pages with groff, where it is installed.
func requireFormatted(t *testing.T, pages ...string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("groff is not installed: the pages are not formatted")
		return
	}
	for _, page := range pages {
		output, err := exec.Command(groff, "-man", "-Kutf8", "-Tutf8", "-ww", "-z", page).CombinedOutput()
		require.NoError(t, err, "%s: %s", page, output)
		require.Empty(t, string(output), page)
	}
}

// A release carries the completion of each shell, and that of kubectl's plugin.
func TestCompletionsOfARelease(t *testing.T) {
	root := newRoot(new(console.Console))
	for at, write := range map[string]func(*cobra.Command, *bytes.Buffer) error{
		"bash-completion/completions/ordapply":    func(c *cobra.Command, w *bytes.Buffer) error { return c.GenBashCompletionV2(w, true) },
		"zsh/site-functions/_ordapply":            func(c *cobra.Command, w *bytes.Buffer) error { return c.GenZshCompletion(w) },
		"fish/vendor_completions.d/ordapply.fish": func(c *cobra.Command, w *bytes.Buffer) error { return c.GenFishCompletion(w, true) },
		"powershell/completions/ordapply.ps1":     func(c *cobra.Command, w *bytes.Buffer) error { return c.GenPowerShellCompletionWithDesc(w) },
	} {
		var text bytes.Buffer
		require.NoError(t, write(root, &text))
		require.Contains(t, text.String(), "__complete", at)
		dir := shareDir(t, filepath.Dir(at))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(at)), text.Bytes(), 0o644))
	}
}

// The archives of a release have every file that make share writes, and no pattern of
// theirs matches nothing.
func TestArchivesHaveWhatMakeShareWrites(t *testing.T) {
	t.Setenv("ORDAPPLY_SHARE", t.TempDir())
	TestManPages(t)
	TestCompletionsOfARelease(t)
	text, err := os.ReadFile(filepath.Join("..", "..", ".goreleaser.yaml"))
	require.NoError(t, err)
	packed := map[string]bool{}
	for _, pattern := range regexp.MustCompile(`\{src: bin/share/(ordapply/\S+), dst: share/(\S+), strip_parent: true}`).FindAllStringSubmatch(string(text), -1) {
		require.Equal(t, path.Dir(pattern[1]), "ordapply/"+pattern[2], "where it is installed")
		files, err := filepath.Glob(filepath.Join(os.Getenv("ORDAPPLY_SHARE"), filepath.FromSlash(pattern[1])))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern[0])
		for _, file := range files {
			packed[file] = true
		}
	}
	require.NoError(t, filepath.WalkDir(os.Getenv("ORDAPPLY_SHARE"), func(file string, entry os.DirEntry, err error) error {
		require.True(t, entry.IsDir() || packed[file], "%s is in no archive", file)
		return err
	}))
}
