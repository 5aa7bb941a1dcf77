package main

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/operation"
)

func newRollback(c *console.Console) *cobra.Command {
	op := operation.NewRollback()
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Apply an earlier revision of an apply set again, in its order",
		Long: `rollback applies the stream of an earlier revision again, in its recorded order,
and then prunes, in reverse, the members that it does not contain. This creates
a new revision. Without --to-revision it rolls back to the revision that was
deployed before the latest; if the latest was a rollback that was killed or
failed, it resumes that. A revision of another cluster is refused.

  ordapply rollback shop
  ordapply rollback shop --to-revision 3
  ordapply rollback shop --dry-run=client    print the plan`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op.Set = args[0]
			if cmd.Flags().Changed("to-revision") && op.ToRevision < 1 {
				return usage.Errorf("--to-revision=%d: revisions are numbered from 1", op.ToRevision)
			}
			return op.RunOn(cmd.Context(), c)
		},
	}
	set := cmd.Flags()
	set.IntVar(&op.ToRevision, "to-revision", 0, "the revision to roll back to; 0: the one that was deployed before the latest")
	flags.PruneNamespaces(set, &op.Membership)
	flags.History(set, &op.History)
	flags.LockTimeout(set, &op.LockTimeout)
	op.Cluster.AddFlags(set)
	registerFields(set, &op.Preview)
	registerRun(set, &op.Apply)
	return cmd
}
