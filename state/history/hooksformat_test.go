package history

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
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
	require.Equal(t, "migrate", read.ReadHooks()[1].Name)
	again, err := unzip(encoded(t, *read), limits.RevisionText)
	require.NoError(t, err)
	before, err := unzip(data, limits.RevisionText)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(again))

	bare := made
	bare.Hooks = nil
	require.NotEqual(t, digestOf(t, bare), digestOf(t, made), "a stream with other hooks is another revision")
	plain, err := unzip(encoded(t, bare), limits.RevisionText)
	require.NoError(t, err)
	require.Contains(t, string(plain), `"format":"v2"`, "what has no hooks is read by older versions")
}

// A revision with hooks of Argo CD has format v5, which keeps the waves of hooks within the
// plan, and its bytes must always be readable.
func TestRevisionsWithArgoHooksAreRead(t *testing.T) {
	folder := filepath.Join("testdata", "revisions")
	text, err := os.ReadFile(filepath.Join(folder, "argohooks.yaml"))
	require.NoError(t, err)
	var hooked, rest []ordering.Resource
	for _, r := range resources(t, string(text)) {
		if r.Annotations["argocd.argoproj.io/hook"] != "" {
			hooked = append(hooked, r)
		} else {
			rest = append(rest, r)
		}
	}
	hooked[2].Name = "each-"
	within := func(id object.ID) bool { return id.Name == "check" }
	options := ordering.Options{OrderSource: ordering.OrderSourceArgoCD}
	made := revisionOf(t, rest, options)
	made.Plan, err = planner.Build(append(slices.Clone(rest), hooked[1]), options)
	require.NoError(t, err)
	made.Plan.TakeHooks("Sync", within)
	made.Hooks = hooked
	path := filepath.Join(folder, "argohooks.v5.gz")
	if _, err := os.Stat(path); err != nil && os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, encoded(t, made), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "argohooks.digest"), []byte(digestOf(t, made)+"\n"), 0o644))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	digest, err := os.ReadFile(filepath.Join(folder, "argohooks.digest"))
	require.NoError(t, err)
	read, err := decode(data)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(digest)), digestOf(t, *read))
	planned := read.ReadHooks().PlannedIn(read.Plan)
	require.Len(t, planned, 3)
	require.Equal(t, ordering.PlannedHook{Event: "Sync", ID: hooked[1].ID, Weight: 1, Within: true, Wave: 1, ReadyBy: 1}, planned[1])
	require.Equal(t, "each-", planned[2].ID.Name, "a hook without a name")
	again, err := unzip(encoded(t, *read), limits.RevisionText)
	require.NoError(t, err)
	require.Contains(t, string(again), `"format":"v5"`)
	broken := strings.Replace(string(again), `"wave":1,"readyBy":1}]`, `"wave":1,"readyBy":7}]`, 1)
	require.NotEqual(t, string(again), broken)
	_, err = decode(zip(t, broken))
	require.ErrorContains(t, err, "hook Job shop/check: wave 2, done by wave 8: the plan has only 3")
}

// Malformed content of a revision with hooks is rejected.
func TestRevisionsWithBadHooksAreRefused(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "revisions", "hooks.v3.gz"))
	require.NoError(t, err)
	whole, err := unzip(data, limits.RevisionText)
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
