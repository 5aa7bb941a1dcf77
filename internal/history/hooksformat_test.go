package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/ordering"
)

// A revision with hooks has format v3, and its bytes must always be readable.
// Where there is no sample yet, ORDAPPLY_GOLDEN=1 writes it.
func TestRevisionsWithHooksAreRead(t *testing.T) {
	folder := filepath.Join("testdata", "revisions")
	text, err := os.ReadFile(filepath.Join(folder, "hooks.yaml"))
	require.NoError(t, err)
	all := resources(t, string(text))
	split := len(all) - 2 // the last two are hooks
	made := revisionOf(t, all[:split], ordering.Options{})
	made.Hooks = all[split:]
	made.Hooks[0].Chart = "shop/charts/db"
	path := filepath.Join(folder, "hooks.v3.gz")
	if _, err := os.Stat(path); err != nil && os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, encoded(t, made), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "hooks.digest"), []byte(digestOf(t, made)+"\n"), 0o644))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	digest, err := os.ReadFile(filepath.Join(folder, "hooks.digest"))
	require.NoError(t, err)

	read, err := decode(data)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(digest)), digestOf(t, *read))
	require.Len(t, read.Hooks, 2)
	require.Equal(t, "shop/charts/db", read.Hooks[0].Chart)
	require.Equal(t, made.Hooks[1].Object, read.Hooks[1].Object)
	require.Equal(t, "migrate", read.HelmHooks()[1].Name)
	again, err := unzip(encoded(t, *read), maxText)
	require.NoError(t, err)
	before, err := unzip(data, maxText)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(again))

	bare := made
	bare.Hooks = nil
	require.NotEqual(t, digestOf(t, bare), digestOf(t, made), "a stream with other hooks is another revision")
	plain, err := unzip(encoded(t, bare), maxText)
	require.NoError(t, err)
	require.Contains(t, string(plain), `"format":"v2"`, "what has no hooks is read by older versions")
}

// Malformed content of a revision with hooks is rejected.
func TestRevisionsWithBadHooksAreRefused(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "revisions", "hooks.v3.gz"))
	require.NoError(t, err)
	whole, err := unzip(data, maxText)
	require.NoError(t, err)
	for old, c := range map[string]struct{ text, want string }{
		`"hooks":[`:       {`"hooks":[{"object":{}},`, "hook 0 has no kind or name"},
		`"hooks":`:        {`"hook":`, "unknown field"},
		`"kind":"Secret"`: {`"kind":""`, "has no kind"},
	} {
		require.Contains(t, string(whole), old)
		_, err := decode(zip(t, strings.Replace(string(whole), old, c.text, 1)))
		require.ErrorContains(t, err, c.want)
	}
}
