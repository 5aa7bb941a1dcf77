package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/rbac"
	"github.com/ordapply/ordapply/internal/cli/status"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// checkSet returns an error for options that require an apply set.
func (r *Roles) checkSet() error {
	var errs []error
	for _, name := range given(flag{"--prune", r.Prune}, flag{"--take-over", r.TakeOver}, flag{"--rollback-on-failure", r.RollbackOnFailure}, flag{"--rollback", r.Rollback}, flag{"--status", r.Status}) {
		if r.Set == "" {
			errs = append(errs, usage.Errorf("%s requires an apply set: name it with --applyset", name))
		}
	}
	return errors.Join(errs...)
}

// onlyReads reports whether the only action is to read the status and the history.
func (r *Roles) onlyReads() bool {
	return r.Status && !r.Prune && !r.Delete && !r.TakeOver && !r.RollbackOnFailure && !r.Rollback && !r.CreateNamespace
}

// readers returns the permissions to read the status and the history of the set, whose kinds
// and namespaces its parent lists.
func (r *Roles) readers(ctx context.Context, c *console.Console) (rbac.Rules, error) {
	t, err := connect.To(ctx, c, r.Cluster)
	if err == nil {
		_, _, err = connect.UseSet(ctx, t, r.Set)
	}
	if err != nil {
		return nil, err
	}
	existing, err := connect.OpenExisting(ctx, t, r.Set)
	if err != nil {
		return nil, err
	}
	kinds := kube.KindsOf(t.Cluster).Or(kube.Kinds(kube.OwnKinds))
	w := rolesRequest{target: t, scope: t.Scope, kinds: kinds}
	parent, kind, err := w.parent(ctx, r.Set)
	if err != nil {
		return nil, err
	}
	all := state.Permissions(parent, kind, w.namespace(), true)
	all.Add(state.ViewPermissions(existing.Parent, kind, w.namespace(), kinds))
	all.Add(status.TreePermissions(existing.Parent, kinds))
	return rbac.RulesOf(rbac.ByKind(all)), nil
}

// setPermissions returns the permissions for the apply set and the selected
// actions.
func (r *Roles) setPermissions(ctx context.Context, w rolesRequest, applier apply.Applier) (kube.Permissions, []string, error) {
	var all kube.Permissions
	parent, kind, err := w.parent(ctx, r.Set)
	if err != nil {
		return all, nil, err
	}
	home := w.namespace()
	all.Add(state.Permissions(parent, kind, home, false))
	all.Add(state.ValuesPermissions(parent, home, slices.Collect(maps.Keys(w.stream.Objects))))
	if r.Delete {
		all.Add(state.SetDeletionPermissions(parent, kind, home))
	}
	promise := w.servedSetKinds(ctx, parent, kind).WithMembers(slices.Collect(maps.Keys(w.stream.Objects)))
	var notes []string
	if r.TakeOver {
		more, remarks := r.recordPermissions(ctx, w, parent, kind, home)
		all.Add(more)
		notes = append(notes, remarks...)
		all.Add(state.MemberPermissions(promise, w.kinds, "list", "get", "patch"))
	}
	if r.RollbackOnFailure {
		all.Add(rbac.ByKind(rbac.CreationPermissions(w.stream.Objects, w.kinds)))
	}
	revisions, remarks, err := r.revisions(ctx, w, parent, kind, home)
	if err != nil {
		return all, nil, err
	}
	notes = append(notes, remarks...)
	for _, revision := range revisions {
		objects := revision.Objects()
		all.Add(rbac.ByKind(applier.Permissions(revision.Plan, objects, kube.StreamKinds(objects).Or(w.kinds))))
		all.Add(state.ValuesPermissions(parent, home, slices.Collect(maps.Keys(objects))))
		promise = promise.WithMembers(slices.Collect(maps.Keys(objects)))
	}
	if r.Prune || r.Delete || r.Rollback { // a deletion also removes the label from kept objects, with PATCH as apply set it
		all.Add(state.MemberPermissions(promise, w.kinds, "list", "get", "watch", "delete"))
	}
	if r.Status {
		all.Add(state.ViewPermissions(promise, kind, home, w.kinds))
		all.Add(status.TreePermissions(promise, w.kinds))
	}
	return all, notes, nil
}

// recordPermissions returns the permissions for taking over other tools' records of the
// stream's objects in the cluster.
func (r *Roles) recordPermissions(ctx context.Context, w rolesRequest, parent object.ID, kind kube.Kind, home string) (kube.Permissions, []string) {
	if w.target == nil {
		return kube.Permissions{}, []string{"A take-over reads what another tool recorded: without a cluster, no Role allows that."}
	}
	run := state.Run{
		SetRef: state.SetRef{Cluster: w.target.Cluster, Parent: parent, Kind: kind.Resource.GroupVersion().WithKind(parent.Kind), Namespace: home},
		Plan:   w.plan, Stream: w.stream, TakeOver: true, Prune: r.Prune,
	}
	return run.TakeOverPermissions(ctx, w.kinds), nil
}

// revisions returns the revisions to which a rollback may go: all, or with
// --rollback-on-failure alone the deployed one.
func (r *Roles) revisions(ctx context.Context, w rolesRequest, parent object.ID, kind kube.Kind, home string) ([]*history.Revision, []string, error) {
	switch {
	case !r.RollbackOnFailure && !r.Rollback:
		return nil, nil, nil
	case w.target == nil:
		return nil, []string{"A rollback applies a revision of the apply set: without a cluster, no Role allows kinds that only a revision contains."}, nil
	}
	set, err := set.Open(ctx, w.target.Cluster, kind.Resource.GroupVersion().WithKind(parent.Kind), parent, true)
	if err != nil {
		return nil, nil, err
	}
	revisions := history.History{Cluster: w.target.Cluster, Parent: applyset.Parent{ID: parent}, Namespace: home, Vouchers: set.Vouchers()}
	if !r.Rollback {
		last, err := revisions.Last(ctx, history.Deployed)
		if last == nil || err != nil {
			return nil, nil, err
		}
		return []*history.Revision{last}, nil, nil
	}
	entries, err := revisions.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	var out []*history.Revision
	for _, e := range entries {
		stored, err := revisions.Read(ctx, e.Number)
		if err != nil {
			return nil, nil, fmt.Errorf("--rollback: %w", err)
		}
		out = append(out, stored)
	}
	return out, nil, nil
}
