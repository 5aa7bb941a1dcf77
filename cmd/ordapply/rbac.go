package main

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/operation"
)

func newRBAC(c *console.Console) *cobra.Command {
	op := operation.NewRoles()
	op.Cluster.AuthInfoName = nil // --user is the subject to bind
	cmd := &cobra.Command{
		Use:   "rbac (-f FILE | --applyset NAME --status)",
		Short: "Print the minimal Roles for applying a stream",
		Long: `rbac prints a Role for each namespace of a stream, and a ClusterRole for
cluster-scoped resources, with only the permissions that apply needs. The plural
names of kinds come from CustomResourceDefinitions in the stream, else from the
cluster, else from a built-in table. With --applyset and --status and without
manifests it prints Roles that only read: for the status and history of the set.`,
		Example: `  kustomize build . | ordapply rbac --service-account ci/deployer | kubectl apply -f -
  ordapply rbac -f app.yaml -n shop --user jane
  ordapply rbac -f app.yaml -n shop --applyset shop --prune --service-account ci/deployer
  ordapply rbac -n shop --applyset shop --status --group on-call`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return op.RunOn(cmd.Context(), c) },
	}
	set := cmd.Flags()
	flags.Manifests(set, &op.Manifests)
	flags.Planning(set, &op.Planning)
	flags.Health(set, &op.Health)
	set.StringVar(&op.ServiceAccount, "service-account", "", "ServiceAccount to bind the Roles to, as NAMESPACE/NAME")
	set.StringVar(&op.User, "user", "", "user to bind the Roles to")
	set.StringVar(&op.Group, "group", "", "group to bind the Roles to")
	flags.Cluster(set, op.Cluster)
	set.StringVar(&op.Name, "name", op.Name, "name of the Roles and their bindings")
	set.StringVar(&op.Set, "applyset", "", "also allow managing this apply set: NAME of its parent Secret, or KIND/NAME")
	set.BoolVar(&op.Prune, "prune", false, "also allow pruning members that the stream no longer contains")
	set.BoolVar(&op.Delete, "delete", false, "also allow deleting the objects of the manifests")
	set.BoolVar(&op.TakeOver, "take-over", false, "also allow taking over the apply set from another tool")
	set.BoolVar(&op.RollbackOnFailure, "rollback-on-failure", false, "also allow undoing a failed run: deleting what it created, and applying the revision that is deployed now")
	set.BoolVar(&op.Rollback, "rollback", false, "also allow the rollback command: applying any stored revision of the apply set, and pruning")
	set.BoolVar(&op.Status, "status", false, "also allow the status and history commands")
	set.BoolVar(&op.CreateNamespace, "create-namespace", false, "also allow creating the namespace of -n")
	set.BoolVar(&op.Diagnosis, "diagnosis", op.Diagnosis, "also allow diagnosing why a resource did not become ready")
	return cmd
}
