package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// lost runs a command with standard output on a full device, and checks the
// error and exit code: lost 1 ordapply version.
func lost(ts *testscript.TestScript, neg bool, args []string) {
	if _, err := os.Stat("/dev/full"); err != nil {
		return
	}
	command := `test -c /dev/full && exec "$@" >/dev/full`
	exits(ts, neg, append([]string{args[0], "sh", "-c", command, "sh"}, args[1:]...))
	printed := ts.ReadFile("stderr")
	if strings.Count(printed, "error: write standard output: no space left on device\n") != 1 {
		ts.Fatalf("%v does not say once that its output was lost:\n%s", args[1:], printed)
	}
}

// The scripts cover every command.
func TestEveryVerbLosesItsOutput(t *testing.T) {
	var lines strings.Builder
	for _, name := range []string{"output_full.txtar", "cluster_output_full.txtar"} {
		text, err := os.ReadFile(filepath.Join("testdata", "script", name))
		require.NoError(t, err)
		lines.Write(text)
	}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			each(sub)
		}
		if !cmd.HasSubCommands() {
			require.Regexp(t, `(?m)^lost \d `+regexp.QuoteMeta(cmd.CommandPath())+`\b`, lines.String())
		}
	}
	each(newRoot(new(console.Console)))
}
