package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// -f, -R, -k, -l and -n select the same objects as in kubectl, or both fail.
func TestFlagsMeanWhatTheyMeanForKubectl(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "flags")
	dir := t.TempDir()
	writeTree(t, dir)
	kubectl := func(args string) []string { return cluster.KubectlCommand(dryRunOf(args)...) }
	ordapply := func(args string) []string {
		return append(append([]string{"ordapply"}, dryRunOf(args)...), "--kubeconfig", cluster.Kubeconfig)
	}
	for _, args := range []string{
		"-f folder", "-f folder -R", "-f folder/", "-f folder/a.yaml", "-f folder/a.yaml -f folder/b.json", "-f folder/a.yaml,folder/c.yml",
		"-f folder/a.yaml -f folder/a.yaml", "-f folder/notes.txt", "-f folder/*.yaml", "-f folder/*.y*ml,folder/b.json", "-f folder/d*", "-f folder/d* -R",
		"-f folder/deep -R", "-f linked", "-f linked -R", "-f list.yaml", "-f -", "-k base", "-k overlay",
		"-f folder -R -l tier=web", "-f folder -R -l tier==web", "-f folder -R -l tier!=web", "-f folder -R -l tier", "-f folder -R -l !tier",
		"-f folder -R -l tier-in-(web,data)", "-f folder -R -l tier-notin-(web)", "-f folder -R -l tier=web,size=s", "-f folder -R --selector=tier=web",
		"-f list.yaml -l tier=web", "-k base -l tier=web", "-k overlay -l tier=web",
	} {
		t.Run(args, func(t *testing.T) {
			want := takenBy(t, dir, kubectl(args))
			require.NotEmpty(t, want)
			require.Equal(t, want, takenBy(t, dir, ordapply(args)))
		})
	}
	for _, args := range []string{
		"-f folder/empty", "-f none.yaml", "-f folder/none-*.yaml", "-f folder/[", "-k base -R", "-k folder", "-k base -f folder",
		"-f folder -R -l tier=none", "-f folder -R -l tier-in-web", "-f other.yaml",
	} {
		t.Run("refused "+args, func(t *testing.T) {
			require.Empty(t, takenBy(t, dir, kubectl(args)))
			require.Empty(t, takenBy(t, dir, ordapply(args)))
		})
	}
}

// dryRunOf returns the arguments of a dry run with space-separated flags; "-"
// in a selector stands for a space.
func dryRunOf(flags string) []string {
	words := strings.Fields(flags)
	for i := range words {
		if i > 0 && words[i-1] == "-l" {
			words[i] = strings.ReplaceAll(words[i], "-", " ")
		}
	}
	return append([]string{"apply", "--server-side", "--dry-run=server", "-o", "name", "-n", "flags"}, words...)
}

// takenBy returns the objects that a command selects in a folder, sorted; none if it fails.
func takenBy(t *testing.T, dir string, command []string) []string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var out, output bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(configMap("piped", "web")), &out, &output
	if err := cmd.Run(); err != nil {
		t.Logf("refused: %s", lastLines(output.String(), 2))
		return nil
	}
	return sortedLines(out.String())
}

// sortedLines returns the lines of a text without duplicates: kubectl sends an
// object twice if it is given twice.
func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return slices.Compact(lines)
}

// writeTree writes folders with manifests, other files, and links.
func writeTree(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"folder/a.yaml":           configMap("a", "web") + "---\n" + configMap("a2", "data"),
		"folder/b.json":           `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "labels": {"tier": "web", "size": "s"}}}`,
		"folder/c.yml":            configMap("c", "data"),
		"folder/notes.txt":        configMap("notes", "web"),
		"folder/empty/nothing":    "",
		"folder/deep/d.yaml":      configMap("d", "web"),
		"folder/deep/er/e.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\n",
		"list.yaml":               "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: f, labels: {tier: web}}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: g}}\n",
		"other.yaml":              "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: h, namespace: default}\n",
		"base/kustomization.yaml": "resources: [i.yaml]\nconfigMapGenerator: [{name: made, literals: [a=b], options: {labels: {tier: web}}}]\n",
		"base/i.yaml":             configMap("i", "data"),
		"overlay/kustomization.yaml": "resources: [../base]\nnamePrefix: over-\n" +
			"patches: [{target: {name: i}, patch: '[{\"op\": \"replace\", \"path\": \"/metadata/labels/tier\", \"value\": \"web\"}]'}]\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "linked"), 0o755))
	require.NoError(t, os.Symlink("../folder/a.yaml", filepath.Join(dir, "linked", "a.yaml")))
	require.NoError(t, os.Symlink("../folder/deep", filepath.Join(dir, "linked", "deep")))
}

func configMap(name, tier string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {tier: %s}}\n", name, tier)
}
