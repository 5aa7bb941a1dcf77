package setstatus

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/setflags"
	"github.com/ordapply/ordapply/state"
)

// NewHistory returns the command history.
func NewHistory() *cobra.Command {
	var v setflags.Command
	var revision int
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of an apply set, or show the waves of one",
		Long: `history lists what was applied to an apply set: each stream that differs from the
previous one is a revision. NAME is the name of the set's parent Secret, or KIND/NAME.

  ordapply history shop
  ordapply history shop --revision 3    its waves, as they were applied
  ordapply history show shop 3          its manifests
  ordapply history diff shop 2 3        the differences between two revisions

For a set named show or diff, use KIND/NAME: ordapply history secret/show`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := v.Connect(cmd.Context())
			if err != nil {
				return err
			}
			set, err := setflags.OpenExisting(cmd.Context(), t, args[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("revision") {
				return listRevisions(cmd, set, v.Output)
			}
			r, err := set.History.Read(cmd.Context(), revision)
			if err != nil {
				return err
			}
			if v.Output == "json" {
				return WriteJSON(cmd.OutOrStdout(), revisionInJSON(r))
			}
			return printRevision(cmd.OutOrStdout(), r)
		},
	}
	cmd.AddCommand(newShow(), newRevisionDiff())
	v.Register(cmd)
	cmd.Flags().IntVar(&revision, "revision", 0, "show the waves of this revision")
	return cmd
}

// listRevisions prints a line for each revision, oldest first.
func listRevisions(cmd *cobra.Command, set setflags.Existing, output string) error {
	entries, err := set.History.List(cmd.Context())
	if err != nil {
		return err
	}
	if output == "json" {
		return WriteJSON(cmd.OutOrStdout(), append([]state.Entry{}, entries...))
	}
	if len(entries) == 0 {
		plain.Fprintf(cmd.ErrOrStderr(), "apply set %s has no revisions\n", set.Parent.ID.Name)
		return nil
	}
	return printRevisions(cmd.OutOrStdout(), entries)
}
