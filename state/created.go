package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// attempt is the execution of a run under the lock.
type attempt struct {
	set      *Set
	revision int // number of its own revision
	began    bool
	summary  apply.Summary
	failure  error // of applying and pruning
}

// created returns the resources that the run created, or may have created by
// a PATCH without an answer, and that are not in a revision.
func (a attempt) created(before *Revision) []apply.Result {
	return a.outside(before, func(r apply.Result) bool {
		unanswered := r.Absent && !r.Sent.IsZero() && r.Applied.IsZero()
		return r.Created != "" || unanswered
	})
}

// left returns the resources that the run changed without creating them, and
// that are not in a revision.
func (a attempt) left(before *Revision) []object.ID {
	return idsOf(a.outside(before, func(r apply.Result) bool {
		changed := !r.Applied.IsZero() && !r.Unchanged && r.State != apply.Deleted
		return changed && r.Created == ""
	}))
}

// notCreated returns the resources that the run wrote, that are not in a
// revision, and that may have existed before without being members of the
// set.
func (a attempt) notCreated(before *Revision) []apply.Result {
	return a.outside(before, func(r apply.Result) bool {
		written := !r.Sent.IsZero() && r.State != apply.Deleted
		return written && !r.Absent && !r.Member && r.Created == ""
	})
}

// outside returns the results that fulfil a condition, of resources that are not in a
// revision; nil is a revision without resources.
func (a attempt) outside(before *Revision, fulfils func(apply.Result) bool) []apply.Result {
	held := before.IDs()
	return slices.DeleteFunc(slices.Clone(a.summary.Results), func(r apply.Result) bool { return held[r.ID] || !fulfils(r) })
}

func idsOf(results []apply.Result) []object.ID {
	var ids []object.ID
	for _, r := range results {
		ids = append(ids, r.ID)
	}
	return ids
}

// unlabelAdopted removes the set's label from what the failed run adopted. Otherwise a
// later prune, or the deletion of the set, would delete it.
func (r Run) unlabelAdopted(ctx context.Context, tried attempt, before *Revision) error {
	if ctx.Err() != nil {
		return nil // the lock was lost, or the run interrupted
	}
	var errs []error
	for _, result := range tried.notCreated(before) {
		if !result.Adopted {
			continue // it may have been a member, or may have been created
		}
		if err := tried.set.Unlabel(ctx, result.ID); err != nil {
			errs = append(errs, fmt.Errorf("release %s, which the failed run adopted: %w", result.ID, err))
		}
	}
	return errors.Join(errs...)
}

// removeCreated deletes what a failed run created, in reverse order. Objects
// that are no longer members of the set, or that replaced another under its
// name, are kept.
func (r Run) removeCreated(ctx context.Context, set *Set, created []apply.Result) (apply.Summary, error) {
	if len(created) == 0 {
		return apply.Summary{}, nil
	}
	var wanted []ordering.Resource
	for _, result := range created {
		wanted = append(wanted, ordering.Resource{Meta: object.Meta{ID: result.ID}})
	}
	found, err := apply.Find(ctx, r.Cluster, wanted)
	if err != nil {
		return apply.Summary{}, fmt.Errorf("find the objects that the failed run created: %w", err)
	}
	gone := map[object.ID]*unstructured.Unstructured{}
	for _, result := range created {
		live := found[result.ID]
		switch {
		case live == nil || !set.IsMember(live):
		case result.Created != "" && live.GetUID() == result.Created,
			result.Created == "" && ownership.WasCreatedBy(live, r.Applier.Manager):
			gone[result.ID] = live
		}
	}
	return memberDeletion{
		set: set, history: r.history(), remover: r.Remover, keepReason: r.essentialNamespaceReason,
		applyPlan: r.undone.removeAfter, onPlanned: func(order *ordering.Deletion) { r.OnRemoving(order.Plan()) },
	}.run(ctx, gone)
}
