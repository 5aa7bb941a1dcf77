package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
)

// AtomicStack is a stack that is deployed as a whole or not at all
// (RFC-DEPLOY-0001 §5.1): when a run fails before all of its resources are
// ready, the changes of the run to the stack are undone, and no others.
type AtomicStack struct {
	Name      string             // the stack's
	Resources map[object.ID]bool // all of it in the plan
}

// brokenStacks returns the atomic stacks that the run changed and that are not
// ready as a whole.
func (r Run) brokenStacks(s event.Summary) []AtomicStack {
	var out []AtomicStack
	for _, stack := range r.Atomic {
		whole, changed := true, false
		for _, result := range s.Results {
			if !stack.Resources[result.ID] {
				continue
			}
			whole = whole && (result.State == event.Ready || result.State == event.Applied) && !result.Unready
			changed = changed || !result.Sent.IsZero() && !result.Unchanged
		}
		if !whole && changed {
			out = append(out, stack)
		}
	}
	return out
}

// restrictedTo returns the attempt reduced to the resources of some stacks.
func (a attempt) restrictedTo(stacks []AtomicStack) attempt {
	a.summary.Results = slices.DeleteFunc(slices.Clone(a.summary.Results), func(result event.Result) bool {
		return !slices.ContainsFunc(stacks, func(s AtomicStack) bool { return s.Resources[result.ID] })
	})
	return a
}

// undoStacks undoes the changes of a failed run to the atomic stacks that
// are not ready as a whole.
func (r Run) undoStacks(ctx context.Context, tried attempt) error {
	stacks := r.brokenStacks(tried.summary)
	if len(stacks) == 0 {
		return tried.failure
	}
	var names []string
	for _, s := range stacks {
		names = append(names, s.Name)
	}
	part := tried.restrictedTo(stacks)
	out := r.goBack(ctx, part,
		func() (event.Summary, error) {
			deleted, err := r.removeCreated(ctx, tried.set, part.created(nil))
			return deleted, errors.Join(err, r.releaseAdopted(ctx, tried.set, part.adopted(nil)))
		},
		func(before *history.Revision) (event.Summary, error) { return r.restore(ctx, before, part, names) })
	out.Stacks = names
	return out
}

// restore applies the manifests that a revision has for the resources of stacks that a
// failed run changed, and deletes the resources that the run created.
func (r Run) restore(ctx context.Context, before *history.Revision, part attempt, stacks []string) (event.Summary, error) {
	if id, err := kube.ClusterID(ctx, r.Cluster); err != nil {
		return event.Summary{}, err
	} else if id != "" && before.Cluster != "" && id != before.Cluster {
		return event.Summary{}, fmt.Errorf("revision %d was applied to another cluster: apply the stream itself to this one", before.Number)
	}
	changed := map[object.ID]bool{}
	for _, result := range part.summary.Results {
		changed[result.ID] = !result.Sent.IsZero() && !result.Unchanged
	}
	plan := before.Plan.Filter(func(id object.ID) bool { return changed[id] })
	plan.Notes = []string{"for " + stackNames(stacks) + " only"}
	r.OnRestoring(before.Number, plan)
	var summary event.Summary
	if len(plan.Steps) > 0 {
		applier := r.Applier
		applier.GoingBack, applier.Restores = true, true
		var err error
		if summary, err = applier.Run(ctx, plan, before.Objects()); err != nil {
			return summary, err
		}
	}
	r.OnRemoving, r.undone.removeAfter = r.OnPruning, plan
	deleted, err := r.removeCreated(ctx, part.set, part.created(before))
	return summary.Append(deleted), errors.Join(err, r.releaseAdopted(ctx, part.set, part.adopted(before)))
}

// AtomicStacks returns the atomic stacks of a plan, with their resources.
// CRDs and Namespaces belong to none: other resources may need them.
func AtomicStacks(plan *ordering.Plan, stacks []ordering.Stack) []AtomicStack {
	var out []AtomicStack
	for _, s := range stacks {
		if s.Atomic {
			out = append(out, AtomicStack{Name: s.Name, Resources: plan.InStack(s.Name)})
		}
	}
	return out
}
