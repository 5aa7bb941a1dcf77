package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/view/events"
)

// For every invalid run the JSON events contain the reason and an end, and the
// metrics the exit code.
func TestInvalidRunWritesRunEnd(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	t.Setenv("KUBECONFIG", filepath.Join(folder, "none"))
	app := file("app.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
	for name, args := range map[string][]string{
		"unknown flag":           {"apply", "-f", app, "--no-such-flag", "-o", "json"},
		"value that is none":     {"apply", "--timeout", "soon", "-f", app, "--output=json"},
		"negative time":          {"apply", "-f", app, "-o", "json", "--timeout=-1s"},
		"argument":               {"apply", app, "-o", "json"},
		"config file":            {"apply", "-f", app, "-o", "json", "--config", file("typo.yaml", "crd-timeoutt: 1m\n")},
		"no config file":         {"apply", "-f", app, "-o", "json", "--config", filepath.Join(folder, "gone.yaml")},
		"asked in a config file": {"apply", "-f", app, "--config", file("half.yaml", "output: json\ncrd-timeoutt: 1m\n")},
		"flags without a set":    {"apply", "-f", app, "-o", "json", "--prune"},
		"no waiting":             {"apply", "-f", app, "-o", "json", "--applyset", "shop", "--rollback-on-failure", "--wait=false"},
		"no plan":                {"apply", "--plan", filepath.Join(folder, "gone.json"), "-o", "json"},
		"no manifest":            {"apply", "-f", filepath.Join(folder, "gone.yaml"), "-o", "json"},
		"dry run":                {"delete", "-f", app, "-o", "json", "--dry-run=maybe"},
		"set and files":          {"delete", "-f", app, "-o", "json", "--applyset", "shop"},
		"no name":                {"rollback", "-o", "json"},
		"no revision":            {"rollback", "shop", "-o", "json", "--to-revision", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := filepath.Join(t.TempDir(), "run.prom")
			code, lines := eventsOf(t, append(args, "--metrics-file", metrics)...)
			require.Contains(t, []int{report.ExitFailed, report.ExitUsage}, code)
			require.GreaterOrEqual(t, len(lines), 2)
			end := lines[len(lines)-1]
			require.Equal(t, events.TypeRunEnd, end["type"])
			require.Equal(t, "failed", end["state"])
			require.EqualValues(t, code, end["exitCode"])
			for _, line := range lines[:len(lines)-1] {
				require.Equal(t, events.TypeError, line["type"], "one end, and before it the reasons: %v", line)
				require.NotEmpty(t, line["message"])
			}
			require.EqualValues(t, code, total(readMetrics(t, metrics)["ordapply_run_exit_code"]))
		})
	}
}

// For an invalid metrics file there are no metrics, and the events report it.
func TestInvalidMetricsFile(t *testing.T) {
	code, lines := eventsOf(t, "apply", "-f", "app.yaml", "-o", "json", "--metrics-file", "nowhere/run.prom")
	require.Equal(t, report.ExitUsage, code)
	require.Equal(t, "--metrics-file=nowhere/run.prom: folder nowhere does not exist", lines[0]["message"])
	require.EqualValues(t, report.ExitUsage, lines[1]["exitCode"])
}

// The environment may also request events.
func TestInvalidRunFromEnvironment(t *testing.T) {
	t.Setenv("ORDAPPLY_OUTPUT", "json")
	code, lines := eventsOf(t, "apply", "-f", "app.yaml", "--no-such-flag")
	require.Equal(t, report.ExitUsage, code)
	require.Equal(t, events.TypeRunEnd, lines[1]["type"])
}

// Without -o json no events are printed.
func TestInvalidRunText(t *testing.T) {
	for _, args := range [][]string{
		{"apply", "--no-such-flag"}, {"apply", "-o", "name", "--prune", "-f", "app.yaml"}, {"apply", "-o", "jsonn", "-f", "app.yaml"},
		{"plan", "-o", "json", "--no-such-flag"}, {"-o", "jsonn"},
	} {
		var out bytes.Buffer
		require.Equal(t, report.ExitUsage, run(t.Context(), args, strings.NewReader(""), &out, &bytes.Buffer{}))
		require.Empty(t, out.String(), "%v", args)
	}
}

// eventsOf runs the program and parses its events.
func eventsOf(t *testing.T, args ...string) (code int, lines []map[string]any) {
	t.Helper()
	var out, stderrText bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &stderrText)
	for text := range bytes.Lines(out.Bytes()) {
		var line map[string]any
		require.NoError(t, json.Unmarshal(text, &line), "%s", text)
		lines = append(lines, line)
	}
	require.NotEmpty(t, lines, stderrText.String())
	return code, lines
}
