package main

import (
	"context"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/rbac"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state"
)

// permissions returns the permissions that applying the job's stream requires.
func (f *applyFlags) permissions(ctx context.Context, j session) []kube.Permission {
	a := apply.Applier{DryRun: f.dryRun == "server", Health: j.assessor, NoDiagnosis: !f.diagnosis, SkipWait: j.ungated}
	kinds := kube.StreamKinds(j.stream.Objects).Or(kube.KindsOf(j.target.Cluster))
	all := a.Permissions(j.plan, j.stream.Objects, kinds)
	if f.dryRun != "server" {
		all.Add(rbac.HookPermissions(j.stream, j.plan.OrderSource, kinds, f.diagnosis, j.metadata.Revision.Rollback > 0))
	}
	if namespace := f.NewNamespace(j.target); namespace != "" && !j.plan.Positions().HasNamespace(namespace) && f.dryRun != "server" {
		all.Add(apply.NamespacePermissions(namespace))
	}
	if f.Set == "" {
		return all.Required
	}
	if gvk, parent, err := connect.ParentOf(ctx, j.target, f.Set); err == nil { // otherwise the run reports it
		all.Add(state.Run{
			SetRef:  state.SetRef{Cluster: j.target.Cluster, Parent: parent, Kind: gvk, Namespace: j.target.RecordsNamespace},
			Applier: a, Plan: j.plan, Stream: j.stream, TakeOver: f.TakeOver, Prune: f.Prune,
		}.Permissions(ctx, j.target.Cluster, kinds))
	}
	return all.Required
}

// rolesFlags returns the flags with which rbac prints the roles for this run.
func (f *applyFlags) rolesFlags(namespace string) []string {
	flags := slices.Concat(f.StreamFlags.Same(), f.PlanFlags.Same(), f.HealthFlags.Same())
	if f.Set != "" || f.NewSpace {
		flags = append(flags, "-n", namespace)
	}
	if f.Set != "" {
		flags = append(flags, "--applyset", plain.ShellQuote(f.Set))
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"--prune", f.Prune}, {"--take-over", f.TakeOver}, {"--rollback-on-failure", f.Rollback}, {"--create-namespace", f.NewSpace},
		{"--diagnosis=false", !f.diagnosis},
	} {
		if flag.given {
			flags = append(flags, flag.name)
		}
	}
	return flags
}
