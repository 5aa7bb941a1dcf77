package operation

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/rbac"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
)

// enableRollback makes a run roll back when it fails.
func (a *Apply) enableRollback(run *state.Run, e execution) {
	run.Undo = func(ctx context.Context, r *history.Revision) (state.Run, error) { return a.undo(ctx, e, r) }
	run.OnRemoving = func(plan *ordering.Plan) { e.reporters.RollBack(0, plan) }
}

// enableStackRollback makes a run roll back its atomic stacks when it fails.
func enableStackRollback(run *state.Run, e execution) {
	run.Atomic, run.OnRestoring = e.atomic, e.reporters.RollBack
	run.OnRemoving = func(plan *ordering.Plan) { e.reporters.RollBack(0, plan) }
}

// undo returns the run that rolls back to a revision. It prunes only if the
// failed run would have pruned.
func (a *Apply) undo(ctx context.Context, e execution, r *history.Revision) (state.Run, error) {
	j, err := a.revisionSession(ctx, e.session, r, "--rollback-on-failure")
	if err != nil {
		return state.Run{}, err
	}
	j.metadata.Revision.Message = "" // that of the failed run is no reason for this one
	e.session = j
	e.reporters.RollBack(r.Number, j.plan)
	e.applier.SkipWait, e.applier.Restores = j.ungated, true
	return a.openSet(ctx, e)
}

// undoTarget returns the revision that --rollback-on-failure would roll back
// to; nil if there is none. A revision that cannot be read is an error before
// anything is written.
func (a *Apply) undoTarget(ctx context.Context, j session) (*history.Revision, error) {
	if !a.RollbackOnFailure && len(j.atomic) == 0 || a.DryRun != "none" {
		return nil, nil
	}
	gvk, parent, err := connect.ParentOf(ctx, j.target, a.Set)
	if err != nil {
		return nil, nil //nolint:nilerr // the run says so
	}
	run := state.Run{SetRef: state.SetRef{Cluster: j.target.Cluster, Parent: parent, Kind: gvk, Namespace: j.target.RecordsNamespace}}
	r, err := run.UndoTarget(ctx)
	if apierrors.IsForbidden(err) {
		return nil, nil // the check of all permissions reports it
	}
	return r, err
}

// undoPermissions returns the permissions for rolling back the session or its atomic stacks:
// deleting new objects, and applying the earlier revision.
func (a *Apply) undoPermissions(ctx context.Context, j session, back *history.Revision) []kube.Permission {
	if a.DryRun != "none" || !a.RollbackOnFailure && len(j.atomic) == 0 {
		return nil
	}
	kinds := kube.StreamKinds(j.stream.Objects).Or(kube.KindsOf(j.target.Cluster))
	if !a.RollbackOnFailure {
		j.stream, back = inStacks(j.stream.Objects, j.atomic), revisionOf(back, j.atomic)
	}
	all := rbac.CreationPermissions(notInRevision(back, j.stream.Objects), kinds)
	if back != nil && sameCluster(ctx, j.target, back) == nil {
		j.plan, j.stream = back.Plan, &apply.Stream{Resources: back.Resources, Objects: back.Objects()}
		all.Required = append(all.Required, a.permissions(ctx, j)...)
	}
	return all.Required
}

// notInRevision returns the objects that are not in a revision.
func notInRevision(r *history.Revision, objects map[object.ID]*unstructured.Unstructured) map[object.ID]*unstructured.Unstructured {
	out := maps.Clone(objects)
	if r != nil {
		for _, resource := range r.Resources {
			delete(out, resource.ID)
		}
	}
	return out
}

// inStacks returns the part of a stream that is in atomic stacks.
func inStacks(objects map[object.ID]*unstructured.Unstructured, stacks []state.AtomicStack) *apply.Stream {
	out := maps.Clone(objects)
	maps.DeleteFunc(out, func(id object.ID, _ *unstructured.Unstructured) bool { return !isInStack(id, stacks) })
	return &apply.Stream{Objects: out}
}

// revisionOf returns the part of a revision that is in atomic stacks.
func revisionOf(r *history.Revision, stacks []state.AtomicStack) *history.Revision {
	if r == nil {
		return nil
	}
	part := *r
	part.Plan = r.Plan.Filter(func(id object.ID) bool { return isInStack(id, stacks) })
	part.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(resource ordering.Resource) bool { return !isInStack(resource.ID, stacks) })
	return &part
}

func isInStack(id object.ID, stacks []state.AtomicStack) bool {
	return slices.ContainsFunc(stacks, func(s state.AtomicStack) bool { return s.Resources[id] })
}
