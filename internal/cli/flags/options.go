package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/nearest"
)

// newOptions returns the command that explains the flags that a command's help only names,
// and without a command kubectl's and the common flags.
func newOptions(columns func() int) *cobra.Command {
	return &cobra.Command{
		Use:   "options [COMMAND]",
		Short: "Describe the flags that --help omits: further flags of a command, and kubectl's",
		Example: `  ordapply options
  ordapply options apply`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return verbsOf(cmd.Root()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				wanted := strings.Join(args, " ")
				return usage.Errorf("unknown command %q%s (%s --help lists all)", wanted, nearest.DidYouMean(wanted, verbsOf(cmd.Root())), cmd.Root().CommandPath())
			}
			_, err = io.WriteString(cmd.OutOrStdout(), optionsOf(about, columns()))
			return err
		},
	}
}

func verbsOf(root *cobra.Command) []string {
	var verbs []string
	for _, sub := range root.Commands() {
		verbs = append(verbs, sub.Name())
	}
	return verbs
}

func optionsOf(cmd *cobra.Command, columns int) string {
	if !cmd.HasParent() {
		return "Flags of every command:\n" + cmd.PersistentFlags().FlagUsagesWrapped(columns) +
			"\nFlags of kubectl, for commands with a cluster:\n" + kubectlFlags().FlagUsagesWrapped(columns)
	}
	_, further, _ := flagsOf(cmd)
	if !further.HasAvailableFlags() {
		return fmt.Sprintf("%s --help explains all its flags.\n", cmd.CommandPath())
	}
	return fmt.Sprintf("Further flags of %s:\n%s", cmd.CommandPath(), further.FlagUsagesWrapped(columns))
}
