package main

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/run/preflight"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	input.StreamFlags
	input.PlanFlags
	cluster  *genericclioptions.ConfigFlags
	planFile string
	runFlags
	report.ViewFlags
	input.HealthFlags
	connect.SetFlags
}

func newApply() *cobra.Command {
	f := applyFlags{cluster: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Apply manifests in gated waves",
		Example: `  kustomize build . | ordapply
  ordapply apply -f app.yaml --order order.yaml --wave-timeout 2m
  ordapply apply -f app.yaml --dry-run=server
  ordapply apply -f app.yaml -o json | jq -r 'select(.type == "error").message'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			planned, err := f.readPlan(cmd)
			if err != nil {
				return err
			}
			if err := errors.Join(f.SetFlags.Check(), f.CheckSet(f.Set)); err != nil {
				return err
			}
			if err := f.checkWait(); err != nil {
				return err
			}
			return f.run(cmd, func(cmd *cobra.Command, files *report.Files) (session, error) {
				j, err := f.prepare(cmd, files)
				j.planned = planned
				if err == nil && planned != nil {
					if err := planned.CheckHooks(j.stream.Hooks); err != nil {
						return j, err
					}
					j.plan.Notes = append(j.plan.Notes, planned.Notes()...)
				}
				return j, err
			})
		},
	}
	cmd.Flags().StringVar(&f.planFile, "plan", "", "file written by ordapply plan --out: apply exactly that plan, or nothing")
	f.StreamFlags.Register(cmd.Flags())
	f.PlanFlags.Register(cmd.Flags())
	f.SetFlags.Register(cmd.Flags())
	plan.RegisterServerSide(cmd.Flags())
	connect.AddClusterFlags(cmd.Flags(), f.cluster)
	f.registerRun(cmd.Flags())
	cmd.Flags().BoolVar(&f.keepGoing, "keep-going", false, "leave out what cannot be applied, with what depends on it, and apply the rest; the exit code is still 1")
	return cmd
}

// checkWait rejects flags that need readiness in combination with --wait=false.
func (f *applyFlags) checkWait() error {
	switch {
	case f.keepGoing && f.Rollback:
		return usage.Errorf("--keep-going applies what can be applied, and --rollback-on-failure undoes it: leave out one of them")
	case f.wait:
	case f.Prune:
		return usage.Errorf("--prune starts only when the whole stream is ready: leave out --wait=false")
	case f.Rollback:
		return usage.Errorf("--rollback-on-failure must wait for the stream to become ready: leave out --wait=false")
	}
	return nil
}

// run runs the job that prepare returns.
func (f *applyFlags) run(cmd *cobra.Command, prepare func(*cobra.Command, *report.Files) (session, error)) error {
	if err := usage.OneOf("output", f.output, "text", "name", "json"); err != nil {
		return err
	}
	files, err := report.OpenFiles(cmd, f.ViewFlags, report.SeriesLabels(cmd.Context(), f.cluster, f.Set, f.MetricsLabels))
	if err != nil {
		return err
	}
	j, err := prepare(cmd, files)
	if err == nil && !f.keepGoing && report.OnlyPrepares(cmd.Context()) { // the run's own checks
		err = preflight.Checks{Cluster: j.target.Cluster, Plan: j.plan, KindTimeout: f.kindTimeout}.WithoutReads(j.stream.Objects)
	}
	switch {
	case err != nil:
		err = report.Unstarted(cmd.OutOrStdout(), f.output, files, err)
	case report.OnlyPrepares(cmd.Context()):
		return nil
	case f.dryRun == "client":
		err = f.printClientDryRun(cmd, j)
	default:
		err = f.execute(cmd, j)
	}
	return report.Reported(err)
}
