// Package run runs a command on the clusters of a fleet: in this process, once for
// each cluster, with the flags that were given and the cluster's context.
//
//	cmd := run.OnClusters(newApply(), program) // has --fleet and --contexts now
package run

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/report"
)

// OnClusters adds the flags --fleet, --fleet-kubeconfigs and --contexts to a command, with which
// program runs it on several clusters.
func OnClusters(cmd *cobra.Command, program Program) *cobra.Command {
	f := &fleetFlags{program: program}
	cmd.Flags().StringVar(&f.file, "fleet", "", "file with a Fleet: run on its clusters, cohort by cohort, instead of on that of --context")
	cmd.Flags().BoolVar(&f.kubeconfigs, "fleet-kubeconfigs", false, "also use the kubeconfigs that the Fleet names; credential plugins in them are refused")
	cmd.Flags().StringSliceVar(&f.contexts, "contexts", nil, "kubeconfig contexts: run on these clusters one after the other, until one fails")
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if isOfFleet(cmd.Context()) {
			return one(cmd, args)
		}
		if f.file == "" && len(f.contexts) == 0 {
			if err := checkEmpty(cmd); err != nil {
				return err
			}
			return one(cmd, args)
		}
		return report.Reported(f.run(cmd))
	}
	return cmd
}

// run runs the command on the fleet.
func (f *fleetFlags) run(cmd *cobra.Command) error {
	ctx := contextOfRuns(cmd)
	outputs := report.OpenOutputs(cmd)
	defer outputs.Close(ctx)
	r := newRunner(cmd, f.program, outputs)
	clusters, err := f.clusters(cmd)
	if err != nil {
		return r.refuse(err)
	}
	cmd.SetContext(ctx) // without the deadline of --timeout, which says nothing about the whole fleet
	if !writes(cmd) {
		return r.compare(ctx, clusters)
	}
	return r.apply(ctx, clusters)
}
