package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/state"
)

func newRollback() *cobra.Command {
	f := applyFlags{cluster: genericclioptions.NewConfigFlags(true)}
	var to int
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Apply an earlier revision of an apply set again, in its order",
		Long: `rollback applies the stream of an earlier revision again, in the order that it was
applied in, and then prunes, in reverse, the members that it lacks. That makes a
new revision. Without --to-revision it goes back to the one that was deployed
before the last. A revision of another cluster is refused.

  ordapply rollback shop
  ordapply rollback shop --to-revision 3
  ordapply rollback shop --dry-run=client    print what it would apply, and in which waves`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.set = args[0]
			if cmd.Flags().Changed("to-revision") && to < 1 {
				return usagef("--to-revision=%d: revisions are numbered from 1", to)
			}
			if err := f.checkHistory(); err != nil {
				return err
			}
			return f.run(cmd, func(cmd *cobra.Command, measured *measure) (job, error) {
				return f.prepareRollback(cmd.Context(), measured, to)
			})
		},
	}
	cmd.Flags().IntVar(&to, "to-revision", 0, "the revision to go back to; 0: the one that was deployed before the last")
	f.registerPruneNamespaces(cmd.Flags())
	f.registerHistory(cmd.Flags())
	f.registerLock(cmd.Flags())
	f.registerRun(cmd.Flags())
	return cmd
}

// prepareRollback makes a job of an earlier revision; 0 is the one before.
func (f *applyFlags) prepareRollback(ctx context.Context, measured *measure, number int) (job, error) {
	j, err := f.begun(measured)
	if err != nil {
		return j, err
	}
	if j.target, err = connect(f.cluster, measured.watch); err != nil {
		return j, err
	}
	set, err := j.target.known(ctx, f.set)
	if err != nil {
		return j, err
	}
	r, err := earlier(ctx, set.history, number)
	if err != nil {
		return j, err
	}
	return f.again(ctx, j, r)
}

// earlier reads a revision; 0 is the one that was deployed before the newest.
func earlier(ctx context.Context, history state.History, number int) (*state.Revision, error) {
	if number > 0 {
		return history.Read(ctx, number)
	}
	entries, err := history.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries[:max(0, len(entries)-1)]) {
		if e.Status == state.Deployed || e.Status == state.Superseded {
			return history.Read(ctx, e.Number)
		}
	}
	return nil, errors.New("there is nothing to go back to: no revision before the last was deployed")
}

// undo applies what was deployed last, after a run that failed, and says so
// beside the failure. A run that was interrupted, or that sent nothing, leaves
// nothing to undo.
func (f *applyFlags) undo(cmd *cobra.Command, j job, failed apply.Summary, failure error) error {
	sent := slices.ContainsFunc(failed.Results, func(r apply.Result) bool { return !r.Sent.IsZero() })
	if f.dryRun != "none" || !sent || errors.Is(failure, apply.ErrInterrupted) || errors.Is(failure, state.ErrLockLost) {
		return failure
	}
	number, err := f.rollBack(cmd, j)
	if err != nil {
		return errors.Join(failure, fmt.Errorf("--rollback-on-failure: %w", err))
	}
	return errors.Join(failure, fmt.Errorf("rolled back to revision %d", number))
}

// rollBack applies what was deployed before the newest revision, which failed,
// and gives its number.
func (f *applyFlags) rollBack(cmd *cobra.Command, j job) (int, error) {
	set, err := j.target.known(cmd.Context(), f.set)
	if err != nil {
		return 0, err
	}
	if last, err := set.history.List(cmd.Context()); err != nil || len(last) > 0 && last[len(last)-1].Status == state.Deployed {
		return 0, errors.Join(err, errors.New("there is nothing to go back to: what failed is what was deployed last"))
	}
	r, err := earlier(cmd.Context(), set.history, 0)
	if err != nil {
		return 0, err
	}
	if j, err = f.again(cmd.Context(), j, r); err != nil {
		return 0, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "rolling back to revision %d\n", r.Number)
	_, err = f.carryOut(cmd, j)
	return r.Number, err
}

// again makes a job of a revision. What the revision lacks is pruned.
func (f *applyFlags) again(ctx context.Context, j job, r *state.Revision) (job, error) {
	if err := sameCluster(ctx, j.target, r); err != nil {
		return j, err
	}
	if err := withRevision(j.assessor, r); err != nil {
		return j, err
	}
	f.prune, j.planned = true, nil
	j.stream, j.plan = &apply.Stream{Resources: r.Resources, Objects: r.Objects()}, r.Plan
	j.memory = state.Memory{Limit: f.limit, Revision: state.Revision{
		Options: r.Options, OrderFile: r.OrderFile, Note: fmt.Sprintf("rollback to revision %d", r.Number),
	}}
	j.measured.plan = j.plan
	var err error
	if j.ungated, err = gates(j.plan, j.stream, f.wait); err != nil || f.dryRun == "client" {
		return j, err
	}
	return j, j.target.permit(ctx, func() []apply.Permission { return f.permissions(ctx, j) },
		"-f", "MANIFESTS", "-n", j.target.scope.Namespace, "--applyset", f.set, "--prune")
}

// sameCluster refuses a revision that was applied to another cluster, such as
// one that came with a backup.
func sameCluster(ctx context.Context, t *target, r *state.Revision) error {
	id, err := state.ClusterID(ctx, t.cluster)
	if err != nil || r.Cluster == "" || id == "" || r.Cluster == id {
		return err
	}
	return fmt.Errorf("revision %d was applied to another cluster (its kube-system namespace has uid %s, that of %s%s has %s): apply the stream itself to this one", r.Number, r.Cluster, t.server, t.of(), id)
}
