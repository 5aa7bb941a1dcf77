package main

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/test/readme"
)

// Every command of ordapply on a page, in blocks, inline code and prose, has a verb and flags
// that exist.
func TestCommandsOnPages(t *testing.T) {
	pages, err := readme.Pages(filepath.Join("..", ".."))
	require.NoError(t, err)
	found := 0
	for page, text := range pages {
		for _, args := range readme.Commands(text, "ordapply") {
			found++
			assert.NoError(t, parses(args), "%s: ordapply %s", page, strings.Join(args, " "))
		}
	}
	require.Greater(t, found, 250)
}

// Every flag that begins inline code on a page is one of a command, or of a tool that the
// page is about.
func TestFlagsOnPages(t *testing.T) {
	known := map[string]bool{"version": true, "explain": true} // of the root, and of sortorder
	for _, name := range []string{"api-versions", "atomic", "include-crds", "take-ownership", "wait-for-jobs", "enable-progressive-syncs", "webhook-name"} {
		known[name] = true
	}
	for _, cmd := range leaves(newRoot(new(console.Console))) {
		cmd.InheritedFlags() // adds them to Flags
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { known[flag.Name] = true })
	}
	pages, err := readme.Pages(filepath.Join("..", ".."))
	require.NoError(t, err)
	for page, text := range pages {
		for _, flag := range regexp.MustCompile("`--([a-z][a-z-]+[a-z])[ =`]").FindAllStringSubmatch(text, -1) {
			assert.True(t, known[flag[1]], "%s: no command has the flag --%s", page, flag[1])
		}
	}
}

// A verb or flag that does not exist is found.
func TestParsesOnPages(t *testing.T) {
	for _, page := range []string{"use ordapply --nonexistent", "`ordapply aply`", "`ordapply apply --prun`", "`ordapply applyset drop`", "`ordapply rollback shop 1`"} {
		commands := readme.Commands(page, "ordapply")
		require.Len(t, commands, 1, page)
		require.Error(t, parses(commands[0]), page)
	}
	require.NoError(t, parses([]string{"--prune", "--applyset"}))
}

// parses reports whether a command line has a verb, flags and arguments that exist. Values
// may be missing. Without a verb, the flags are those of apply.
func parses(args []string) error {
	root := newRoot(new(console.Console))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root && len(args) > 0 && args[0] != "--help" && args[0] != "--version" {
		cmd, _, err = root.Find([]string{"apply"})
	}
	return errors.Join(err, checkFlags(cmd, rest))
}

// checkFlags returns an error for unknown flags and for arguments that the command does not take.
func checkFlags(cmd *cobra.Command, args []string) error {
	cmd.InheritedFlags() // adds them to Flags
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	err := cmd.Flags().ParseAll(args, func(*pflag.Flag, string) error { return nil })
	given := cmd.Flags().Args()
	switch {
	case errors.As(err, new(*pflag.ValueRequiredError)):
		return nil
	case err != nil || len(given) == 0:
		return err
	}
	return cmd.ValidateArgs(given)
}
