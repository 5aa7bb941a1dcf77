package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// undoing makes a run one that is undone when it fails.
func (f *applyFlags) undoing(run *state.Run, cmd *cobra.Command, j job, applier apply.Applier, told tellers) {
	run.Undo = func(ctx context.Context, r *state.Revision) (state.Run, error) {
		return f.undo(ctx, cmd, j, applier, told, r)
	}
	run.Removing = func(plan *ordering.Plan) { told.rollBack(0, plan) }
}

// undoingStacks makes a run one whose atomic stacks are changed back when it fails.
func undoingStacks(run *state.Run, j job, told tellers) {
	run.Atomic, run.Restoring = j.atomic, told.rollBack
	run.Removing = func(plan *ordering.Plan) { told.rollBack(0, plan) }
}

// atomicStacks are the stacks of a job that are atomic. Without an apply set nothing
// is known of what they had before, and without waiting nothing of how they end.
func (f *applyFlags) atomicStacks(j job, options ordering.Options) ([]state.AtomicStack, error) {
	atomic := state.AtomicStacks(j.plan, options.Stacks)
	ordered, _, err := f.switches(j.stream, &options)
	switch {
	case len(atomic) == 0 || err != nil:
		return nil, err
	case f.set == "":
		return nil, usagef("stack %s is atomic, and only an apply set knows what there was before: name one with --applyset", atomic[0].Name)
	case !f.wait:
		return nil, usagef("stack %s is atomic, and it has to be seen whether it becomes ready: leave out --wait=false", atomic[0].Name)
	case !ordered:
		return nil, usagef("stack %s is atomic, and without an order others may use it before it is ready: give --ordering", atomic[0].Name)
	}
	return atomic, nil
}

// undo makes the run that goes back to a revision after this one failed. It prunes
// only where the failed run would have.
func (f *applyFlags) undo(ctx context.Context, cmd *cobra.Command, j job, applier apply.Applier, told tellers, r *state.Revision) (state.Run, error) {
	j, err := f.again(ctx, j, r, "--rollback-on-failure")
	if err != nil {
		return state.Run{}, err
	}
	told.rollBack(r.Number, j.plan)
	applier.Ungated, applier.Begin = j.ungated, nil
	return f.setFlags.open(ctx, j, applier, told, cmd.ErrOrStderr())
}

// undoTarget is the revision that --rollback-on-failure would go back to now; nil
// when there is none. One that cannot be read is an error before anything is
// written: the flag could not keep its promise.
func (f *applyFlags) undoTarget(ctx context.Context, j job) (*state.Revision, error) {
	if !f.rollback && len(j.atomic) == 0 || f.dryRun != "none" {
		return nil, nil
	}
	gvk, parent, err := j.target.parent(ctx, f.set)
	if err != nil {
		return nil, nil //nolint:nilerr // the run says so
	}
	run := state.Run{Cluster: j.target.cluster, Parent: parent, Kind: gvk, Namespace: j.target.home}
	r, err := run.UndoTarget(ctx)
	if apierrors.IsForbidden(err) {
		return nil, nil // the check of all permissions says so
	}
	return r, err
}

// undoPermissions are those that undoing the job would require, or its atomic stacks:
// deleting what it creates, and applying the revision that it goes back to.
func (f *applyFlags) undoPermissions(ctx context.Context, j job, back *state.Revision) []apply.Permission {
	if f.dryRun != "none" || !f.rollback && len(j.atomic) == 0 {
		return nil
	}
	kinds := apply.StreamKinds(j.stream.Objects).Or(apply.KindsOf(j.target.cluster))
	if !f.rollback {
		j.stream, back = inStacks(j.stream.Objects, j.atomic), revisionOf(back, j.atomic)
	}
	all := creationPermissions(withoutThoseOf(back, j.stream.Objects), kinds)
	if back != nil && sameCluster(ctx, j.target, back) == nil {
		j.plan, j.stream = back.Plan, &apply.Stream{Resources: back.Resources, Objects: back.Objects()}
		all.Required = append(all.Required, f.permissions(ctx, j)...)
	}
	return all.Required
}

// creationPermissions are those for deleting objects that a run creates, and for
// telling them from those that were there before.
func creationPermissions(objects map[object.ID]*unstructured.Unstructured, kinds apply.Kinds) apply.Permissions {
	all := apply.RemovalPermissions(objects, kinds)
	lists := slices.DeleteFunc(slices.Clone(all.Optional), func(p apply.Permission) bool { return p.Verb != "list" || p.Namespace == "" })
	for id, obj := range objects {
		if kind, known := kinds(obj.GroupVersionKind()); known && id.Namespace == "" {
			lists = append(lists, apply.Permission{Verb: "list", Resource: kind.Resource})
		}
	}
	all.Add(apply.Permissions{Required: lists})
	return all
}

// withoutThoseOf are the objects that a revision does not hold.
func withoutThoseOf(r *state.Revision, objects map[object.ID]*unstructured.Unstructured) map[object.ID]*unstructured.Unstructured {
	out := map[object.ID]*unstructured.Unstructured{}
	for id, obj := range objects {
		out[id] = obj
	}
	if r != nil {
		for _, resource := range r.Resources {
			delete(out, resource.ID)
		}
	}
	return out
}

// inStacks is what atomic stacks hold of a stream.
func inStacks(objects map[object.ID]*unstructured.Unstructured, stacks []state.AtomicStack) *apply.Stream {
	out := &apply.Stream{Objects: map[object.ID]*unstructured.Unstructured{}}
	for id, obj := range objects {
		if slices.ContainsFunc(stacks, func(s state.AtomicStack) bool { return s.Resources[id] }) {
			out.Objects[id] = obj
		}
	}
	return out
}

// revisionOf is what a revision has of the resources of atomic stacks.
func revisionOf(r *state.Revision, stacks []state.AtomicStack) *state.Revision {
	if r == nil {
		return nil
	}
	held := func(id object.ID) bool {
		return slices.ContainsFunc(stacks, func(s state.AtomicStack) bool { return s.Resources[id] })
	}
	part := *r
	part.Plan = r.Plan.Only(held)
	part.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(resource ordering.Resource) bool { return !held(resource.ID) })
	return &part
}
