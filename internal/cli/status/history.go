package status

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/state/history"
)

// NewHistory returns the command history.
func NewHistory(c *console.Console) *cobra.Command {
	var v connect.Command
	var revision int
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of an apply set, or show the waves of one",
		Long: `history lists what was applied to an apply set: each stream that differs from
the previous one is a revision. NAME is the name of the set's parent Secret, or
KIND/NAME.

  ordapply history shop
  ordapply history shop --revision 3    its waves, as they were applied
  ordapply history show shop 3          its manifests
  ordapply history diff shop 2 3        the differences between two revisions

For a set named show or diff, use KIND/NAME: ordapply history secret/show`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := v.Connect(cmd.Context(), c)
			if err != nil {
				return err
			}
			set, err := connect.OpenExisting(cmd.Context(), t, args[0])
			if err == nil && cmd.Flags().Changed("revision") {
				err = showRevision(cmd.Context(), c, set, revision, v.Output)
			} else if err == nil {
				err = listRevisions(cmd.Context(), c, t, set, v.Output)
			}
			return connect.ExplainForbidden(err, t, args[0], "--status")
		},
	}
	cmd.AddCommand(newShow(c), newRevisionDiff(c))
	v.Register(cmd.Flags())
	cmd.Flags().IntVar(&revision, "revision", 0, "show the waves of this revision")
	return cmd
}

// showRevision prints the waves of a revision.
func showRevision(ctx context.Context, c *console.Console, set connect.Existing, number int, output string) error {
	r, err := set.History.Show(ctx, number)
	if err != nil {
		return err
	}
	if output == "json" {
		return WriteJSON(c.Out, revisionInJSON(r))
	}
	return printRevision(c.Out, r)
}

// listRevisions prints a line for each revision, oldest first.
func listRevisions(ctx context.Context, c *console.Console, t *connect.Target, set connect.Existing, output string) error {
	stored, err := set.History.ReadIndex(ctx)
	if err != nil {
		return err
	}
	entries := stored.Described()
	if n := len(entries); n > 0 {
		entries[n-1].Description = withLock(ctx, t, set, entries[n-1].Status, entries[n-1].Description)
	}
	notes := stored.Unvouched()
	if len(entries) > 0 && set.History.Vouchers == nil {
		notes = append(notes, "the parent of the apply set does not list these revisions, so that rollbacks and hooks do not use them: if runs of this set stored them, accept them with ordapply applyset trust "+set.Parent.Argument())
	}
	for _, note := range notes {
		plain.Fprintf(c.Err, "note: %s\n", note)
	}
	if output == "json" {
		return WriteJSON(c.Out, append([]history.Entry{}, entries...))
	}
	if len(entries) == 0 {
		plain.Fprintf(c.Err, "apply set %s has no revisions\n", set.Parent.ID.Name)
		return nil
	}
	return printRevisions(c.Out, entries)
}
