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
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// permissions returns the permissions that applying the stream of a session requires.
func (a *Apply) permissions(ctx context.Context, j session) []kube.Permission {
	applier := apply.Applier{DryRun: a.DryRun == "server", Health: j.assessor, NoDiagnosis: !a.Diagnosis, SkipWait: j.ungated}
	kinds := kube.StreamKinds(j.stream.Objects).Or(kube.KindsOf(j.target.Cluster))
	all := a.streamPermissions(applier, j.stream, j.plan, kinds, newNamespace(a.Membership, j.target), j.metadata.Revision.Rollback > 0)
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

// streamPermissions returns the permissions for applying a stream, or a revision in a rollback,
// apart from the apply set. The namespace is created unless it is "".
func (a *Apply) streamPermissions(applier apply.Applier, stream *apply.Stream, plan *ordering.Plan, kinds kube.Kinds, namespace string, rollback bool) kube.Permissions {
	all := applier.Permissions(plan, stream.Objects, kinds)
	if applier.DryRun {
		return all
	}
	all.Add(rbac.HookPermissions(stream, plan.OrderSource, kinds, a.Diagnosis, rollback))
	if namespace != "" && !plan.Positions().HasNamespace(namespace) {
		all.Add(apply.NamespacePermissions(namespace))
	}
	return all
}

// RolesFlags returns the flags with which rbac prints the roles for this run.
func (a *Apply) RolesFlags(namespace string) []string {
	flags := append(a.rolesFlags(namespace), input.SameHealth(a.Health)...)
	return append(flags, given(flag{"--rollback-on-failure", a.RollbackOnFailure}, flag{"--diagnosis=false", !a.Diagnosis})...)
}

// rolesFlags returns the flags with which rbac prints the roles for an apply with these options.
func (p *Preview) rolesFlags(namespace string) []string {
	source := p.source()
	flags := slices.Concat(source.SameManifests(), source.SamePlanning())
	if p.Set != "" || p.CreateNamespace {
		flags = append(flags, "-n", namespace)
	}
	if p.Set != "" {
		flags = append(flags, "--applyset", plain.ShellQuote(p.Set))
	}
	return append(flags, given(flag{"--prune", p.Prune}, flag{"--take-over", p.TakeOver}, flag{"--create-namespace", p.CreateNamespace})...)
}

// flag is a flag without a value.
type flag struct {
	name  string
	given bool
}

// given returns the names of the flags that are given.
func given(flags ...flag) []string {
	var names []string
	for _, one := range flags {
		if one.given {
			names = append(names, one.name)
		}
	}
	return names
}
