package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "ordapply",
		Short: "Apply Kubernetes manifests in the order their author wrote",
		Long: `ordapply applies a stream of manifests in gated waves: CRDs and Namespaces
first, then layer by layer, each when the one before it is ready.

  kustomize build . | ordapply                    apply what kustomize prints
  ordapply apply -f app.yaml --order order.yaml   order it by a SortOrder
  ordapply plan -f app.yaml --order order.yaml    show what that would do`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownVerb,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			known := timeLimit(cmd)
			limitTime(cmd, known)
			if err := setUnsetFlags(cmd); err != nil {
				return err
			}
			if limit := timeLimit(cmd); limit != known { // --timeout is in the config file
				limitTime(cmd, limit)
			}
			return logVerbosely(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return usagef("nothing to do: pipe manifests in, or name a command")
		},
	}
	if name := displayName(os.Args[0]); name != "" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	root.SetFlagErrorFunc(flagMisuse)
	root.PersistentFlags().String("config", "", "file with values for flags, one per line; environment variables ORDAPPLY_… take precedence")
	registerVerbosity(root.PersistentFlags())
	root.SetGlobalNormalizationFunc(longNames)
	root.AddCommand(newApply(), newPlan(), newDiff(), newGraph(), newSort(), newVet(), newExplain(), newConsolidate(), newHealth(), newRBAC(), newVersion())
	root.AddCommand(newApplySet(), newDelete(), newHistory(), newRollback(), newStatus())
	asUsage(root)
	return root
}

// displayName returns how the user invoked the program if that differs from its
// name: as a kubectl plugin.
func displayName(file string) string {
	if strings.TrimSuffix(filepath.Base(file), ".exe") == "kubectl-ordapply" {
		return "kubectl ordapply"
	}
	return ""
}

// asUsage turns argument errors of a command into usage errors.
func asUsage(cmd *cobra.Command) {
	if args := cmd.Args; args != nil {
		cmd.Args = func(c *cobra.Command, given []string) error {
			err := args(c, given)
			var said *usageError
			switch {
			case err == nil, errors.As(err, &said):
				return err
			case len(given) == 1 && c.Flags().Lookup("filename") != nil && !c.HasSubCommands():
				return usagef("%s takes no argument %q: name files and folders with -f", c.CommandPath(), given[0])
			default:
				return &usageError{errors.New(err.Error() + "; see " + c.CommandPath() + " --help")}
			}
		}
	}
	for _, sub := range cmd.Commands() {
		asUsage(sub)
	}
}
