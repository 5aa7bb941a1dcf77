package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/cli/verbose"
)

// deleteFlags are the flags of delete.
type deleteFlags struct {
	input.StreamFlags
	input.PlanFlags
	cluster         *genericclioptions.ConfigFlags
	dryRun          string
	output          string
	wait            bool
	diagnosis       bool
	pruneNamespaces bool
	yes             bool
	timeLimits
	report.ViewFlags
	setDeletionFlags
}

// setDeletionFlags select an apply set to delete.
type setDeletionFlags struct {
	set            string
	ignoreNotFound bool
	lockTimeout    time.Duration
}

func newDelete() *cobra.Command {
	f := deleteFlags{cluster: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "delete (-f FILE | --applyset NAME)",
		Short: "Delete the objects of manifests in reverse order",
		Long: `delete deletes the objects of manifests, in the reverse of the order in which
apply creates them: dependents before their dependencies, custom resources before
their CustomResourceDefinition and before the workloads that may run their
finalizers. The next wave opens when all objects of a wave are gone. Missing
objects are reported, not treated as errors.`,
		Example: `  ordapply delete -f app.yaml --order order.yaml
  kustomize build . | ordapply delete -f -
  ordapply delete -f app.yaml --dry-run=client
  ordapply delete --applyset shop -n shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	f.StreamFlags.Register(flags)
	f.PlanFlags.Register(flags)
	f.cluster.AddFlags(flags)
	flags.StringVar(&f.set, "applyset", "", "delete an apply set with all its members instead: NAME of its parent Secret, or KIND/NAME")
	flags.BoolVar(&f.ignoreNotFound, "ignore-not-found", false, "succeed if the apply set does not exist; missing objects of manifests are never an error")
	connect.RegisterLockTimeout(flags, &f.lockTimeout)
	flags.StringVar(&f.dryRun, "dry-run", "none", `"none"; "client": print the order only; "server": let the server check every deletion and delete nothing`)
	flags.StringVarP(&f.output, "output", "o", "text", `format of standard output: "text": one line per resource, as in kubectl; "name": the names of deleted resources; "json": one event per line`)
	flags.BoolVarP(&f.yes, "yes", "y", false, "delete without confirmation; delete asks only on a terminal, and never in a dry run")
	f.ViewFlags.Register(flags)
	flags.BoolVar(&f.wait, "wait", true, "wait until resources are gone; with false, others wait only until a deletion is accepted")
	flags.BoolVar(&f.diagnosis, "diagnosis", true, "report what blocks the deletion of resources that are not gone")
	flags.BoolVar(&f.pruneNamespaces, "prune-namespaces", false, "delete Namespaces with all their contents; without it, a Namespace that contains other objects is kept")
	flags.DurationVar(&f.timeout, "timeout", 0, "maximum duration of the run; 0: only the limits of the waves apply")
	flags.DurationVar(&f.waveTimeout, "wave-timeout", 5*time.Minute, "maximum time for the resources of a wave to be gone; 0: no limit")
	return cmd
}

func (f *deleteFlags) run(cmd *cobra.Command) error {
	if err := errors.Join(usage.OneOf("output", f.output, "text", "name", "json"), usage.OneOf("dry-run", f.dryRun, "none", "client", "server")); err != nil {
		return err
	}
	if f.set != "" {
		switch {
		case len(f.Files) > 0 || f.Kustomize != "" || f.Selector != "" || f.Order != "":
			return usage.Errorf("--applyset deletes all members of the set, in their recorded order: leave out -f, -k, -l and --order")
		case !f.wait:
			return usage.Errorf("--wait=false: an apply set is deleted only when its members are gone")
		}
	}
	files, err := report.OpenFiles(cmd, f.ViewFlags, report.SeriesLabels(cmd.Context(), f.cluster, f.set, f.MetricsLabels))
	if err != nil {
		return err
	}
	if f.set != "" {
		return report.Reported(f.deleteSet(cmd, files))
	}
	d, err := f.prepare(cmd, files)
	if err == nil {
		err = f.confirm(cmd, d, cmd.ErrOrStderr())
	}
	if err != nil {
		return report.Reported(report.Unstarted(cmd.OutOrStdout(), f.output, files, err))
	}
	return report.Reported(f.execute(cmd, d))
}

// execute deletes, or prints the order of deletion, and reports events.
func (f *deleteFlags) execute(cmd *cobra.Command, d deletion) error {
	outputs := report.OpenOutputs(cmd)
	defer outputs.Close(cmd.Context())
	if f.dryRun == "client" {
		return f.show(outputs.Out, d)
	}
	reporters := f.report(cmd, d, outputs)
	reporters.Begin()
	verbose.Of(cmd.Context()).Plan(d.order.Plan())
	defer reporters.NotifyInterrupt(cmd.Context(), outputs.Err)()
	summary, err := f.deleteAround(cmd.Context(), d, reporters)
	ended, err := d.files.Ended(summary, d.target.Warnings.List(), report.WithTimeout(summary, report.WithInterrupt(cmd.Context(), err)))
	reporters.End(ended)
	return err
}
