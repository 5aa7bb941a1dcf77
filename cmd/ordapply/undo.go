package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/access"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// enableRollback makes a run roll back when it fails.
func (f *applyFlags) enableRollback(run *state.Run, cmd *cobra.Command, j session, applier apply.Applier, told reporters) {
	run.Undo = func(ctx context.Context, r *state.Revision) (state.Run, error) {
		return f.undo(ctx, cmd, j, applier, told, r)
	}
	run.OnRemoving = func(plan *ordering.Plan) { told.rollBack(0, plan) }
}

// enableStackRollback makes a run roll back its atomic stacks when it fails.
func enableStackRollback(run *state.Run, j session, told reporters) {
	run.Atomic, run.OnRestoring = j.atomic, told.rollBack
	run.OnRemoving = func(plan *ordering.Plan) { told.rollBack(0, plan) }
}

// checkAtomic rejects flags with which a stack cannot be atomic. Without an apply set
// its earlier state is not known, without waiting its outcome is not known, and without
// an order other resources use it before it is ready. Only flags that the verb has are
// checked: vet, for example, has no --applyset.
func (f *planningFlags) checkAtomic(stacks []ordering.Stack, ordered bool) error {
	at := slices.IndexFunc(stacks, func(s ordering.Stack) bool { return s.Atomic })
	if at < 0 {
		return nil
	}
	is := func(name, value string) bool {
		flag := f.flags.Lookup(name)
		return flag != nil && flag.Value.String() == value
	}
	switch stack := stacks[at].Name; {
	case is("applyset", ""):
		return usagef("stack %s is atomic, which requires an apply set to roll back to: name one with --applyset", stack)
	case is("wait", "false"):
		return usagef("stack %s is atomic, which requires waiting until it is ready: leave out --wait=false", stack)
	case !ordered:
		return usagef("stack %s is atomic, and without an order others may use it before it is ready: set --ordering", stack)
	}
	return nil
}

// undo returns the run that rolls back to a revision. It prunes only if the
// failed run would have pruned.
func (f *applyFlags) undo(ctx context.Context, cmd *cobra.Command, j session, applier apply.Applier, told reporters, r *state.Revision) (state.Run, error) {
	j, err := f.revisionSession(ctx, j, r, "--rollback-on-failure")
	if err != nil {
		return state.Run{}, err
	}
	told.rollBack(r.Number, j.plan)
	applier.SkipWait, applier.Begin = j.ungated, nil
	return f.setFlags.open(ctx, j, applier, told, cmd.ErrOrStderr())
}

// undoTarget returns the revision that --rollback-on-failure would roll back
// to; nil if there is none. A revision that cannot be read is an error before
// anything is written.
func (f *applyFlags) undoTarget(ctx context.Context, j session) (*state.Revision, error) {
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
		return nil, nil // the check of all permissions reports it
	}
	return r, err
}

// undoPermissions returns the permissions for rolling back the job or its
// atomic stacks: deleting what it creates, and applying the earlier revision.
func (f *applyFlags) undoPermissions(ctx context.Context, j session, back *state.Revision) []kube.Permission {
	if f.dryRun != "none" || !f.rollback && len(j.atomic) == 0 {
		return nil
	}
	kinds := kube.StreamKinds(j.stream.Objects).Or(kube.KindsOf(j.target.cluster))
	if !f.rollback {
		j.stream, back = inStacks(j.stream.Objects, j.atomic), revisionOf(back, j.atomic)
	}
	all := creationPermissions(notInRevision(back, j.stream.Objects), kinds)
	if back != nil && sameCluster(ctx, j.target, back) == nil {
		j.plan, j.stream = back.Plan, &apply.Stream{Resources: back.Resources, Objects: back.Objects()}
		all.Required = append(all.Required, f.permissions(ctx, j)...)
	}
	return all.Required
}

// creationPermissions returns the permissions for deleting objects that a run
// creates, and for distinguishing them from existing ones.
func creationPermissions(objects map[object.ID]*unstructured.Unstructured, kinds kube.Kinds) kube.Permissions {
	all := access.RemovalPermissions(objects, kinds)
	lists := slices.DeleteFunc(slices.Clone(all.Optional), func(p kube.Permission) bool { return p.Verb != "list" || p.Namespace == "" })
	for id, obj := range objects {
		if kind, known := kinds(obj.GroupVersionKind()); known && id.Namespace == "" {
			lists = append(lists, kube.Permission{Verb: "list", Resource: kind.Resource})
		}
	}
	all.Add(kube.Permissions{Required: lists})
	return all
}

// notInRevision returns the objects that are not in a revision.
func notInRevision(r *state.Revision, objects map[object.ID]*unstructured.Unstructured) map[object.ID]*unstructured.Unstructured {
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

// inStacks returns the part of a stream that is in atomic stacks.
func inStacks(objects map[object.ID]*unstructured.Unstructured, stacks []state.AtomicStack) *apply.Stream {
	out := &apply.Stream{Objects: map[object.ID]*unstructured.Unstructured{}}
	for id, obj := range objects {
		if slices.ContainsFunc(stacks, func(s state.AtomicStack) bool { return s.Resources[id] }) {
			out.Objects[id] = obj
		}
	}
	return out
}

// revisionOf returns the part of a revision that is in atomic stacks.
func revisionOf(r *state.Revision, stacks []state.AtomicStack) *state.Revision {
	if r == nil {
		return nil
	}
	held := func(id object.ID) bool {
		return slices.ContainsFunc(stacks, func(s state.AtomicStack) bool { return s.Resources[id] })
	}
	part := *r
	part.Plan = r.Plan.Filter(held)
	part.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(resource ordering.Resource) bool { return !held(resource.ID) })
	return &part
}
