package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/operation"
)

func newStatus(c *console.Console) *cobra.Command {
	op := operation.NewStatus()
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show the health of an apply set, layer by layer",
		Long: `status evaluates the live state of every member of an apply set, and shows the
health of its layers and stacks in the order in which they were applied. A layer
is Failed if a member has failed or is unknown, else Degraded if one is missing,
degraded, being deleted, or cannot start its Pods after the newest revision
failed, else Progressing if one is progressing, else Suspended if one is
suspended. The exit code is 0 if all are ready and the newest revision did not
fail, 3 if the others are only Progressing or Suspended, so that waiting may
help, and 1 otherwise. NAME is the name of the set's parent Secret, or
KIND/NAME. Without it, status lists the apply sets of the namespace.

  ordapply status shop
  ordapply status shop --watch    keep running, and show changes
  ordapply status shop --tree     with ReplicaSets, Pods, and what is wrong`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch op.Set = strings.Join(args, ""); {
			case op.Set == "" && len(args) > 0: // as of an unset variable of a shell: no list, which would be a success
				return usage.Errorf("the name of the apply set is empty: write NAME or KIND/NAME")
			case op.Set == "" && (op.Watch || op.Tree):
				return usage.Errorf("--watch and --tree show one apply set: name it")
			case op.Tree && (op.Watch || op.Output != "text"):
				return usage.Errorf("--tree prints text once: leave out --watch and -o")
			}
			return op.RunOn(cmd.Context(), c)
		},
	}
	set := cmd.Flags()
	op.Cluster.AddFlags(set)
	set.StringVarP(&op.Output, "output", "o", op.Output, "text or json")
	flags.Health(set, &op.Health)
	set.BoolVarP(&op.Watch, "watch", "w", false, "keep running until interrupted: redraw the table on a terminal, elsewhere print a line per change")
	set.BoolVar(&op.Tree, "tree", false, "show what each resource owns, down to its Pods, and what is wrong with them; what is ready is counted")
	set.DurationVar(&op.StatusGrace, "status-grace", op.StatusGrace, "maximum time to wait for a meaningful status of a custom resource before evaluating it without one; 0: do not wait")
	return cmd
}
