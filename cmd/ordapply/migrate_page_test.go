package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/cli/report"
)

// docs/migrate.md shows the files of examples/migrate and their plans: its text
// equals the files and the output of the commands. `make golden` updates both.
// test/readme runs its apply commands.
func TestMigratePage(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	path := filepath.Join("docs", "migrate.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	rewritten := withFilesShown(t, withPlansShown(t, string(page)))
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(rewritten), 0o644))
		return
	}
	require.Equal(t, string(page), rewritten)
}

// withFilesShown replaces each block below a file name by that file.
func withFilesShown(t *testing.T, page string) string {
	t.Helper()
	shown := regexp.MustCompile("(?ms)^\\[(examples/migrate/[^\\]]+)\\]\\(\\.\\./([^)]+)\\)\n\n```yaml\n(.*?)^```\n")
	require.NotEmpty(t, shown.FindAllString(page, -1))
	return shown.ReplaceAllStringFunc(page, func(found string) string {
		parts := shown.FindStringSubmatch(found)
		require.Equal(t, parts[1], parts[2], "the link leads elsewhere")
		text, err := os.ReadFile(parts[1])
		require.NoError(t, err)
		return "[" + parts[1] + "](../" + parts[1] + ")\n\n```yaml\n" + string(text) + "```\n"
	})
}

// withPlansShown replaces the output of each ordapply plan.
func withPlansShown(t *testing.T, page string) string {
	t.Helper()
	command := regexp.MustCompile("(?ms)^```console\n\\$ ordapply (plan --dry-run=client [^\n]*)\n(.*?)^```\n")
	require.NotEmpty(t, command.FindAllString(page, -1))
	return command.ReplaceAllStringFunc(page, func(found string) string {
		parts := command.FindStringSubmatch(found)
		code, plan := offlineRun(strings.Fields(parts[1])...)
		require.Equal(t, report.ExitDone, code, plan)
		return "```console\n$ ordapply " + parts[1] + "\n" + plan + "```\n"
	})
}

// A stream that moves from another tool's annotations to a SortOrder keeps its
// waves.
func TestMigrationKeepsTheWaves(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "examples", "migrate"))
	for _, folder := range []string{"argocd", "kapp"} {
		t.Run(folder, func(t *testing.T) {
			app, order := filepath.Join(folder, "app.yaml"), filepath.Join(folder, "order.yaml")
			require.Equal(t, wavesOf(t, "-f", app), wavesOf(t, "-f", app, "--order", order))
		})
	}
}

// wavesOf returns the resources of each wave of a plan.
func wavesOf(t *testing.T, flags ...string) [][]string {
	t.Helper()
	code, plan := offlineRun(append([]string{"plan", "--dry-run=client"}, flags...)...)
	require.Equal(t, report.ExitDone, code, plan)
	var waves [][]string
	for line := range strings.Lines(plan) {
		if strings.HasPrefix(line, "wave ") {
			waves = append(waves, nil)
		}
		if resource, indented := strings.CutPrefix(line, "  "); indented {
			words := strings.Fields(resource)
			waves[len(waves)-1] = append(waves[len(waves)-1], words[0]+" "+words[1])
		}
	}
	return waves
}

// Without the annotation the application is applied together with the database,
// so it needed a Job that waits; with it, a wave later.
func TestMigrationNeedsNoWaitJob(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "examples", "migrate", "wait"))
	before, after := wavesOf(t, "-f", "before.yaml"), wavesOf(t, "-f", "after.yaml")
	require.Len(t, before, 1)
	require.Subset(t, before[0], []string{"StatefulSet migrate-wait/db", "Deployment migrate-wait/web", "Job migrate-wait/wait-for-db"})
	require.Equal(t, []string{"Deployment migrate-wait/web"}, after[len(after)-1])
}

// Stacks wait for each other like the Flux Kustomizations of the same folders.
func TestMigrationKeepsFluxDependencies(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "examples", "migrate", "flux"))
	for i, m := range readManifests(t, "before.yaml") {
		dependsOn, _, err := unstructured.NestedSlice(m.Object, "spec", "dependsOn")
		require.NoError(t, err)
		require.Len(t, dependsOn, i, m.GetName())
	}
	require.Equal(t, [][]string{{"Deployment default/queue"}, {"Deployment default/web"}}, wavesOf(t, "-k", ".", "--order", "order.yaml"))
}
