package rbac

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// rbacSetFlags select the account's rights to an apply set.
type rbacSetFlags struct {
	set       string
	prune     bool
	remove    bool
	takeOver  bool
	onFailure bool
	rollback  bool
	status    bool
}

func (f *rbacSetFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.set, "applyset", "", "also allow managing this apply set: NAME of its parent Secret, or KIND/NAME")
	flags.BoolVar(&f.prune, "prune", false, "also allow pruning members that the stream no longer contains")
	flags.BoolVar(&f.remove, "delete", false, "also allow deleting the objects of the manifests")
	flags.BoolVar(&f.takeOver, "take-over", false, "also allow taking over the apply set from another tool")
	flags.BoolVar(&f.onFailure, "rollback-on-failure", false, "also allow undoing a failed run: deleting what it created, and applying the revision that is deployed now")
	flags.BoolVar(&f.rollback, "rollback", false, "also allow the rollback command: applying any stored revision of the apply set, and pruning")
	flags.BoolVar(&f.status, "status", false, "also allow the status and history commands")
}

// check returns an error for flags that require an apply set.
func (f *rbacSetFlags) check() error {
	var errs []error
	for _, flag := range []struct {
		name  string
		given bool
	}{{"prune", f.prune}, {"take-over", f.takeOver}, {"rollback-on-failure", f.onFailure}, {"rollback", f.rollback}, {"status", f.status}} {
		if flag.given && f.set == "" {
			errs = append(errs, usage.Errorf("--%s requires an apply set: name it with --applyset", flag.name))
		}
	}
	return errors.Join(errs...)
}

// setPermissions returns the permissions for the apply set and the selected
// actions.
func (f *rbacSetFlags) setPermissions(ctx context.Context, w rbacRequest, applier apply.Applier) (kube.Permissions, []string, error) {
	var all kube.Permissions
	parent, kind, err := w.parent(ctx, f.set)
	if err != nil {
		return all, nil, err
	}
	home := w.namespace()
	all.Add(state.Permissions(parent, kind, home, false))
	all.Add(state.ValuesPermissions(parent, home, slices.Collect(maps.Keys(w.stream.Objects))))
	if f.remove {
		all.Add(state.SetDeletionPermissions(parent, kind, home))
	}
	promise := w.servedSetKinds(ctx, parent, kind).WithMembers(slices.Collect(maps.Keys(w.stream.Objects)))
	var notes []string
	if f.takeOver {
		more, remarks := f.recordPermissions(ctx, w, parent, kind, home)
		all.Add(more)
		notes = append(notes, remarks...)
		all.Add(state.MemberPermissions(promise, w.kinds, "list", "get", "patch"))
	}
	if f.onFailure {
		all.Add(byKind(CreationPermissions(w.stream.Objects, w.kinds)))
	}
	revisions, remarks, err := f.revisions(ctx, w, parent, kind, home)
	if err != nil {
		return all, nil, err
	}
	notes = append(notes, remarks...)
	for _, r := range revisions {
		all.Add(byKind(applier.Permissions(r.Plan, r.Objects(), kube.StreamKinds(r.Objects()).Or(w.kinds))))
		all.Add(state.ValuesPermissions(parent, home, slices.Collect(maps.Keys(r.Objects()))))
		promise = promise.WithMembers(slices.Collect(maps.Keys(r.Objects())))
	}
	if f.prune || f.remove || f.rollback { // a deletion also removes the label from kept objects, with PATCH as apply set it
		all.Add(state.MemberPermissions(promise, w.kinds, "list", "get", "watch", "delete"))
	}
	if f.status {
		all.Add(state.ViewPermissions(promise, kind, home, w.kinds))
	}
	return all, notes, nil
}

// recordPermissions returns the permissions for taking over other tools' records of the
// stream's objects in the cluster.
func (f *rbacSetFlags) recordPermissions(ctx context.Context, w rbacRequest, parent object.ID, kind kube.Kind, home string) (kube.Permissions, []string) {
	if w.target == nil {
		return kube.Permissions{}, []string{"A take-over reads what another tool recorded: without a cluster, no Role allows that."}
	}
	run := state.Run{
		SetRef: state.SetRef{Cluster: w.target.Cluster, Parent: parent, Kind: kind.Resource.GroupVersion().WithKind(parent.Kind), Namespace: home},
		Plan:   w.plan, Stream: w.stream, TakeOver: true, Prune: f.prune,
	}
	return run.TakeOverPermissions(ctx, w.kinds), nil
}

// revisions returns the revisions to which a rollback may go: all, or with
// --rollback-on-failure alone the deployed one.
func (f *rbacSetFlags) revisions(ctx context.Context, w rbacRequest, parent object.ID, kind kube.Kind, home string) ([]*history.Revision, []string, error) {
	switch {
	case !f.onFailure && !f.rollback:
		return nil, nil, nil
	case w.target == nil:
		return nil, []string{"A rollback applies a revision of the apply set: without a cluster, no Role allows kinds that only a revision contains."}, nil
	}
	set, err := set.Open(ctx, w.target.Cluster, kind.Resource.GroupVersion().WithKind(parent.Kind), parent, true)
	if err != nil {
		return nil, nil, err
	}
	revisions := history.History{Cluster: w.target.Cluster, Parent: applyset.Parent{ID: parent}, Namespace: home, Vouchers: set.Vouchers()}
	if !f.rollback {
		r, err := revisions.Last(ctx, history.Deployed)
		if r == nil || err != nil {
			return nil, nil, err
		}
		return []*history.Revision{r}, nil, nil
	}
	entries, err := revisions.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	var out []*history.Revision
	for _, e := range entries {
		r, err := revisions.Read(ctx, e.Number)
		if err != nil {
			return nil, nil, fmt.Errorf("--rollback: %w", err)
		}
		out = append(out, r)
	}
	return out, nil, nil
}
