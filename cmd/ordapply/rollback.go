package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/state/history"
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
				j, target, err := f.prepareRollback(cmd.Context(), files, to)
				if err == nil {
					plain.Fprintln(cmd.ErrOrStderr(), rollbackText(f.Set, target))
				}
				return j, err
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
func (f *applyFlags) prepareRollback(ctx context.Context, files *report.Files, number int) (j session, target history.RollbackTarget, err error) {
	if j, err = f.newSession(ctx, files); err != nil {
		return j, target, err
	}
	if j.target, err = connect.To(ctx, f.cluster, files.Watch); err != nil {
		return j, target, err
	}
	j, target, err = f.rollbackSession(ctx, j, number)
	return j, target, connect.ExplainForbidden(err, j.target, f.Set, "--rollback")
}

// rollbackSession returns the job that applies an earlier revision to the set; 0 means
// the previous one.
func (f *applyFlags) rollbackSession(ctx context.Context, j session, number int) (_ session, target history.RollbackTarget, err error) {
	set, err := connect.OpenExisting(ctx, j.target, f.Set)
	if err != nil {
		return j, target, err
	}
	if number > 0 {
		target, err = set.History.RollbackTo(ctx, number)
	} else {
		target, err = set.History.RollbackTarget(ctx)
	}
	if err != nil {
		return j, target, err
	}
	r, err := set.History.ReadRollbackTarget(ctx, target)
	if err != nil {
		return j, target, err
	}
	if number > 0 {
		j, err = f.revisionSession(ctx, j, r, "--rollback")
		return j, target, err
	}
	if target.Resumed {
		r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("resuming the rollback to revision %d, which did not complete; to roll back to another, use --to-revision", r.Number))
	}
	j, err = f.revisionSession(ctx, j, r, "--rollback")
	j.precondition = func(ctx context.Context) error { return checkPreviousRevision(ctx, set.History, r.Number) }
	return j, target, err
}

// rollbackText names the two revisions of a rollback.
func rollbackText(set string, target history.RollbackTarget) string {
	return plain.Line(fmt.Sprintf("rolling back %s from revision %s to revision %s", set, revisionText(target.From.Number, target.From), revisionText(target.Number, target.To)))
}

// revisionText names a revision with its status, its time and its account.
func revisionText(number int, e history.Entry) string {
	text := fmt.Sprintf("%d (%s, created %s", number, e.Status, e.Created.Format(time.RFC3339))
	if e.User != "" {
		text += " by " + e.User
	}
	return text + ")"
}

// checkPreviousRevision returns an error if another run, which held the lock until now,
// changed the previous revision.
func checkPreviousRevision(ctx context.Context, history history.History, number int) error {
	now, err := history.RollbackTarget(ctx)
	if err != nil || now.Number == number {
		return err
	}
	return fmt.Errorf("another run ended in the meantime: the rollback was to go to revision %d, but the one before the latest is now %d; nothing was changed. Choose one with --to-revision", number, now.Number)
}
