package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/connect"
	"github.com/ordapply/ordapply/internal/report"
	"github.com/ordapply/ordapply/internal/setflags"
	"github.com/ordapply/ordapply/internal/usage"
	"github.com/ordapply/ordapply/state"
)

func newRollback() *cobra.Command {
	f := applyFlags{cluster: genericclioptions.NewConfigFlags(true)}
	var to int
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Apply an earlier revision of an apply set again, in its order",
		Long: `rollback applies the stream of an earlier revision again, in its recorded order,
and then prunes, in reverse, the members that it does not contain. This creates a
new revision. Without --to-revision it rolls back to the revision that was
deployed before the latest; if the latest was a rollback that was killed or
failed, it resumes that. A revision of another cluster is refused.

  ordapply rollback shop
  ordapply rollback shop --to-revision 3
  ordapply rollback shop --dry-run=client    print what it would apply, and in which waves`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Set = args[0]
			if cmd.Flags().Changed("to-revision") && to < 1 {
				return usage.Errorf("--to-revision=%d: revisions are numbered from 1", to)
			}
			f.Prune = true
			if err := errors.Join(f.CheckHistory(), f.checkWait()); err != nil {
				return err
			}
			return f.run(cmd, func(cmd *cobra.Command, files *report.Files) (session, error) {
				return f.prepareRollback(cmd.Context(), files, to)
			})
		},
	}
	cmd.Flags().IntVar(&to, "to-revision", 0, "the revision to roll back to; 0: the one that was deployed before the latest")
	f.RegisterPruneNamespaces(cmd.Flags())
	f.RegisterHistory(cmd.Flags())
	f.RegisterLock(cmd.Flags())
	f.cluster.AddFlags(cmd.Flags())
	f.registerRun(cmd.Flags())
	return cmd
}

// prepareRollback returns the job that applies an earlier revision; 0 means the
// previous one.
func (f *applyFlags) prepareRollback(ctx context.Context, files *report.Files, number int) (session, error) {
	j, err := f.newSession(ctx, files)
	if err != nil {
		return j, err
	}
	if j.target, err = connect.To(ctx, f.cluster, files.Watch); err != nil {
		return j, err
	}
	set, err := setflags.OpenExisting(ctx, j.target, f.Set)
	if err != nil {
		return j, err
	}
	if number > 0 {
		r, err := set.History.Read(ctx, number)
		if err != nil {
			return j, err
		}
		return f.revisionSession(ctx, j, r, "--rollback")
	}
	previous, err := set.History.RollbackTarget(ctx)
	if err != nil {
		return j, err
	}
	r, err := set.History.ReadRollbackTarget(ctx, previous)
	if err != nil {
		return j, err
	}
	if previous.Resumed {
		r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("resuming the rollback to revision %d, which did not complete; to roll back to another, use --to-revision", r.Number))
	}
	j, err = f.revisionSession(ctx, j, r, "--rollback")
	j.precondition = func(ctx context.Context) error { return checkPreviousRevision(ctx, set.History, r.Number) }
	return j, err
}

// checkPreviousRevision returns an error if another run, which held the lock until now,
// changed which revision is the previous one.
func checkPreviousRevision(ctx context.Context, history state.History, number int) error {
	now, err := history.RollbackTarget(ctx)
	if err != nil || now.Number == number {
		return err
	}
	return fmt.Errorf("another run ended in the meantime: the rollback was to go to revision %d, but the one before the latest is now %d; nothing was changed. Choose one with --to-revision", number, now.Number)
}
