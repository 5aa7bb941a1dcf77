package connect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

func TestChoicesAreThoseThatTheUsageNames(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("output", "text", `"text": one line per resource; "json": one event per line`)
	flags.String("order", "", "file with a SortOrder")
	require.Equal(t, []string{"text", "json"}, choicesOf(flags.Lookup("output")))
	require.Nil(t, valuesOf(flags.Lookup("order")), "the shell completes files")
}

func TestContextsAreThoseOfTheGivenKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\ncontexts:\n- {name: staging, context: {cluster: s}}\n- {name: prod, context: {cluster: p}}\n"), 0o600))
	root := &cobra.Command{Use: "tool"}
	cmd := &cobra.Command{Use: "status NAME", Run: func(*cobra.Command, []string) {}}
	genericclioptions.NewConfigFlags(true).AddFlags(cmd.Flags())
	root.AddCommand(cmd)
	InstallCompletion(root)
	require.NoError(t, cmd.Flags().Set("kubeconfig", file))
	complete, known := cmd.GetFlagCompletionFunc("context")
	require.True(t, known)
	names, directive := complete(cmd, nil, "")
	require.Equal(t, []string{"prod", "staging"}, names)
	require.Equal(t, cobra.ShellCompDirectiveNoFileComp, directive)
	require.NotNil(t, cmd.ValidArgsFunction)
	names, _ = cmd.ValidArgsFunction(cmd, []string{"shop"}, "")
	require.Empty(t, names, "there is one name")
}
