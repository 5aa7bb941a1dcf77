package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// The help of each command fits on a screen that is 60 lines high, and every flag
// is explained there or by options.
func TestHelpIsShort(t *testing.T) {
	explained := map[string]string{}
	print := func(args ...string) string {
		var out bytes.Buffer
		require.Zero(t, run(t.Context(), args, strings.NewReader(""), &out, &out), out.String())
		return out.String()
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Hidden {
				continue
			}
			path := strings.Fields(sub.CommandPath())[1:]
			text := print(append(path, "--help")...)
			require.Less(t, strings.Count(text, "\n"), 61, sub.CommandPath())
			explained[sub.CommandPath()] = text + print(append([]string{"options"}, path...)...) + print("options")
			visit(sub)
		}
	}
	root := newRoot(new(console.Console))
	visit(root)
	require.Less(t, strings.Count(print("--help"), "\n"), 60)
	for _, cmd := range leaves(root) {
		for _, flag := range listFlags(cmd.Flags()) {
			if flag.Name != "help" {
				require.Contains(t, explained[cmd.CommandPath()], flag.Usage, "%s --%s", cmd.CommandPath(), flag.Name)
			}
		}
	}
}
