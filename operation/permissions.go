package operation

import (
	"context"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/rbac"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state"
)

// permissions returns the permissions that applying the job's stream requires.
func (a *Apply) permissions(ctx context.Context, j session) []kube.Permission {
	applier := apply.Applier{DryRun: a.DryRun == "server", Health: j.assessor, NoDiagnosis: !a.Diagnosis, SkipWait: j.ungated}
	kinds := kube.StreamKinds(j.stream.Objects).Or(kube.KindsOf(j.target.Cluster))
	all := applier.Permissions(j.plan, j.stream.Objects, kinds)
	if a.DryRun != "server" {
		all.Add(rbac.HookPermissions(j.stream, j.plan.OrderSource, kinds, a.Diagnosis, j.metadata.Revision.Rollback > 0))
	}
	if namespace := newNamespace(a.Membership, j.target); namespace != "" && !j.plan.Positions().HasNamespace(namespace) && a.DryRun != "server" {
		all.Add(apply.NamespacePermissions(namespace))
	}
	if a.Set == "" {
		return all.Required
	}
	if gvk, parent, err := connect.ParentOf(ctx, j.target, a.Set); err == nil { // otherwise the run reports it
		all.Add(state.Run{
			SetRef:  state.SetRef{Cluster: j.target.Cluster, Parent: parent, Kind: gvk, Namespace: j.target.RecordsNamespace},
			Applier: applier, Plan: j.plan, Stream: j.stream, TakeOver: a.TakeOver, Prune: a.Prune,
		}.Permissions(ctx, j.target.Cluster, kinds))
	}
	return all.Required
}

// RolesFlags returns the flags with which rbac prints the roles for this run.
func (a *Apply) RolesFlags(namespace string) []string {
	source := a.source()
	flags := slices.Concat(source.SameManifests(), source.SamePlanning(), input.SameHealth(a.Health))
	if a.Set != "" || a.CreateNamespace {
		flags = append(flags, "-n", namespace)
	}
	if a.Set != "" {
		flags = append(flags, "--applyset", plain.ShellQuote(a.Set))
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--prune", a.Prune}, {"--take-over", a.TakeOver}, {"--rollback-on-failure", a.RollbackOnFailure}, {"--create-namespace", a.CreateNamespace},
		{"--diagnosis=false", !a.Diagnosis},
	} {
		if flag.given {
			flags = append(flags, flag.name)
		}
	}
	return flags
}
