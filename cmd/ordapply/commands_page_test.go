package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// docs/commands.md lists every command, flag, exit code and environment variable as
// the program defines them. `make golden` writes it.
func TestCommandsPage(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "commands.md")
	want := commandsPage(t)
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run `make golden`")
}

func commandsPage(t *testing.T) string {
	var page strings.Builder
	page.WriteString(`# Commands and flags

Every command of ` + "`ordapply`" + ` with its own flags. Flags that all commands with a cluster share
with kubectl [are at the end](#flags-of-kubectl), before [environment
variables](#environment-variables) and [exit codes](#exit-codes). As a kubectl plugin, installed
under the name ` + "`kubectl-ordapply`" + `, each is ` + "`kubectl ordapply …`" + `.

`)
	root := newRoot(new(console.Console))
	commands := leaves(root)
	for _, cmd := range commands {
		fmt.Fprintf(&page, "- [`%s`](#%s): %s\n", cmd.CommandPath(), anchor(cmd.CommandPath()), lowerFirst(cmd.Short))
	}
	for _, cmd := range commands {
		fmt.Fprintf(&page, "\n## %s\n\n```\n%s\n```\n\n%s\n", cmd.CommandPath(), cmd.UseLine(), sentence(cmd.Short))
		writeFlags(&page, slices.DeleteFunc(listFlags(cmd.LocalNonPersistentFlags()), func(f *pflag.Flag) bool { return isKubectl(f) || f.Name == "help" }))
	}
	page.WriteString("\n## Flags of every command\n")
	writeFlags(&page, listFlags(root.PersistentFlags()))
	page.WriteString("\n## Flags of kubectl\n\nCommands that use a cluster take these, with kubectl's meaning.\n")
	writeFlags(&page, kubectlFlags())
	page.WriteString(environment(t))
	page.WriteString(exitCodes(t))
	return page.String()
}

// leaves returns the commands that do something, in the order of their paths.
func leaves(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range cmd.Commands() {
		if sub.Runnable() && sub.Name() != "help" && !sub.Hidden {
			all = append(all, sub)
		}
		all = append(all, leaves(sub)...)
	}
	slices.SortFunc(all, func(a, b *cobra.Command) int { return cmp.Compare(a.CommandPath(), b.CommandPath()) })
	return slices.CompactFunc(all, func(a, b *cobra.Command) bool { return a.CommandPath() == b.CommandPath() })
}

func kubectlFlags() []*pflag.Flag {
	set := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(set)
	return listFlags(set)
}

// isKubectl reports whether a flag is one of kubectl's, with its meaning.
func isKubectl(flag *pflag.Flag) bool {
	return slices.ContainsFunc(kubectlFlags(), func(f *pflag.Flag) bool { return f.Name == flag.Name && f.Usage == flag.Usage })
}

func listFlags(set *pflag.FlagSet) []*pflag.Flag {
	var all []*pflag.Flag
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f)
		}
	})
	return all
}

func writeFlags(page *strings.Builder, flags []*pflag.Flag) {
	if len(flags) == 0 {
		return
	}
	page.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", name, defaultOf(f), cell(usage))
	}
}

func defaultOf(f *pflag.Flag) string {
	switch home, _ := os.UserHomeDir(); {
	case slices.Contains([]string{"", "[]", "false", "0"}, f.DefValue):
		return ""
	case home != "" && strings.HasPrefix(f.DefValue, home):
		return "`~" + strings.TrimPrefix(f.DefValue, home) + "`"
	}
	return "`" + f.DefValue + "`"
}

// cell returns text as it may stand in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", `\<`).Replace(strings.TrimSpace(text))
}

func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

// environment lists the variables that the product reads. One that this does not know
// fails the test.
func environment(t *testing.T) string {
	meaning := map[string]string{
		"CI":                     "if set, lines are printed instead of the live view, and `delete` does not ask for confirmation",
		"GITHUB_SHA, …":          "the Git commit of a pipeline, which the [history](history.md) stores. Each CI system has its own variable",
		"OTEL_…":                 "where and how [traces](tracing.md) are sent, as OpenTelemetry specifies: `OTEL_EXPORTER_OTLP_ENDPOINT` turns them on",
		"TRACEPARENT":            "the span that becomes the parent of the [trace](tracing.md)",
		"TRACESTATE":             "belongs to `TRACEPARENT`",
		"GOGC, GOMEMLIMIT":       "as in every Go program",
		"KUBECONFIG":             "files with clusters and credentials, as for kubectl",
		"KUBECTL_EXTERNAL_DIFF":  "program that `ordapply diff` uses to show differences, as for `kubectl diff`",
		"NO_COLOR":               "if set, no color is printed ([no-color.org](https://no-color.org))",
		"ORDAPPLY_…":             "the value of a flag that the command line does not set: `ORDAPPLY_CRD_TIMEOUT` for `--crd-timeout`. The command line takes precedence over the environment, and the environment over the file of `--config`",
		"COLORTERM":              "if it or `TERM` says so, 256 colors are used, as most terminals have them",
		"TERM":                   "if empty or `dumb`, lines are printed instead of the live view",
		"USER":                   "stored in the lock of an apply set, to show whose run holds it",
		"HTTPS_PROXY, NO_PROXY…": "as in every Go program",
	}
	for _, name := range variablesRead(t) {
		require.Contains(t, meaning, name, "the page does not tell what this variable does")
	}
	var out strings.Builder
	out.WriteString("\n## Environment variables\n\n| variable | meaning |\n|---|---|\n")
	for _, name := range slices.Sorted(keysOf(meaning)) {
		fmt.Fprintf(&out, "| `%s` | %s |\n", name, meaning[name])
	}
	return out.String()
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// variablesRead returns the variables that calls of os.Getenv and os.LookupEnv in the
// product name.
func variablesRead(t *testing.T) []string {
	known := map[string]string{
		`clientcmd.RecommendedConfigPathEnvVar`: "KUBECONFIG", `externalDiffVariable`: "KUBECTL_EXTERNAL_DIFF",
		`envName(flag.Name)`: "ORDAPPLY_…", `envName(name)`: "ORDAPPLY_…", `source`: "ORDAPPLY_…",
		`name`: "OTEL_…",
	}
	call := regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\((.+?\)?)\)`)
	var found []string
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"test", "bin", ".git", "examples", "docs"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir(), filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, match := range call.FindAllStringSubmatch(string(text), -1) {
			name, quoted := strconv.Unquote(match[1])
			if quoted != nil {
				name = known[match[1]]
				require.NotEmpty(t, name, "%s: which variable is %s?", path, match[0])
			}
			if strings.HasPrefix(name, "OTEL_") {
				name = "OTEL_…"
			}
			found = append(found, name)
		}
		return err
	}))
	require.NotEmpty(t, found)
	return found
}

// exitCodes lists the exit codes. A constant that this does not know fails the test.
func exitCodes(t *testing.T) string {
	meaning := map[string]string{
		"ExitDone":        "done: everything is applied and ready, or there was nothing to do",
		"ExitFailed":      "something failed, or was refused before anything was written",
		"ExitDifferent":   "`ordapply diff`: there are differences",
		"ExitDiffFailed":  "`ordapply diff`: something failed",
		"ExitUsage":       "the command line is not valid: nothing was read or written",
		"ExitTimedOut":    "nothing failed, but something did not become ready in time",
		"ExitInterrupted": "interrupted by SIGINT or SIGTERM; what was sent is reported",
	}
	source, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "internal", "cli", "report", "exit.go"), nil, 0)
	require.NoError(t, err)
	var rows []string
	for _, decl := range source.Decls {
		constants, ok := decl.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			value, isValue := spec.(*ast.ValueSpec)
			if !isValue {
				continue
			}
			require.Contains(t, meaning, value.Names[0].Name, "the page does not tell what this exit code means")
			rows = append(rows, fmt.Sprintf("| %s | %s |\n", value.Values[0].(*ast.BasicLit).Value, meaning[value.Names[0].Name]))
		}
	}
	require.Len(t, rows, len(meaning))
	slices.SortStableFunc(rows, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return "\n## Exit codes\n\n| code | meaning |\n|---|---|\n" + strings.Join(rows, "")
}

func number(row string) int {
	n, _ := strconv.Atoi(strings.Fields(row)[1])
	return n
}
