package main

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/operation"
)

func newDelete(c *console.Console) *cobra.Command {
	op := operation.NewDelete()
	cmd := &cobra.Command{
		Use:   "delete (-f FILE | --applyset NAME)",
		Short: "Delete the objects of manifests in reverse order",
		Long: `delete deletes the objects of manifests, in the reverse of the order in which
apply creates them: dependents before their dependencies, custom resources
before their CustomResourceDefinition and before the workloads that may run
their finalizers. The next wave opens when all objects of a wave are gone.
Missing objects are reported, not treated as errors.`,
		Example: `  ordapply delete -f app.yaml --order order.yaml
  kustomize build . | ordapply delete -f -
  ordapply delete -f app.yaml --dry-run=client
  ordapply delete --applyset shop -n shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return op.RunOn(cmd.Context(), c) },
	}
	set := cmd.Flags()
	flags.Manifests(set, &op.Manifests)
	flags.Planning(set, &op.Planning)
	op.Cluster.AddFlags(set)
	set.StringVar(&op.Set, "applyset", "", "delete an apply set with all its members instead: NAME of its parent Secret, or KIND/NAME")
	set.BoolVar(&op.IgnoreNotFound, "ignore-not-found", false, "succeed if the apply set does not exist; missing objects of manifests are never an error")
	flags.LockTimeout(set, &op.LockTimeout)
	set.StringVar(&op.DryRun, "dry-run", op.DryRun, `"none"; "client": print the order only; "server": let the server check every deletion and delete nothing`)
	set.StringVarP(&op.Output, "output", "o", op.Output, `format of standard output: "text": one line per resource, as in kubectl; "name": the names of deleted resources; "json": one event per line`)
	set.BoolVarP(&op.Yes, "yes", "y", false, "delete without confirmation; delete asks only on a terminal, and never in a dry run")
	flags.View(set, &op.View)
	set.BoolVar(&op.Wait, "wait", op.Wait, "wait until resources are gone; with false, others wait only until a deletion is accepted")
	set.BoolVar(&op.Diagnosis, "diagnosis", op.Diagnosis, "report what blocks the deletion of resources that are not gone")
	set.BoolVar(&op.PruneNamespaces, "prune-namespaces", false, "delete Namespaces with all their contents; without it, a Namespace that contains other objects is kept")
	flags.Limits(set, &op.Limits, "maximum time for the resources of a wave to be gone; 0: no limit")
	return cmd
}
