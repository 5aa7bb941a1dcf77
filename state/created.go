package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// created returns the resources that the run created, or may have created by
// a PATCH without an answer, and that are not in a revision. Without a revision, these are
// also the ones that earlier runs created, which failed or were killed.
func (a attempt) created(before *history.Revision) []event.Result {
	earlier := map[object.ID]history.Created{}
	if before == nil && a.record != nil {
		earlier = createdBy(a.record.entries())
	}
	out := a.outside(before, func(r event.Result) bool {
		_, is := earlier[r.ID]
		unanswered := r.Absent && !r.Sent.IsZero() && r.Applied.IsZero()
		return r.Created != "" || unanswered || is && r.Member
	})
	for i, r := range out {
		if r.Created == "" {
			out[i].Created = earlier[r.ID].UID
		}
	}
	return out
}

// left returns the resources that the run changed, that no run of the set created, and
// that are not in a revision.
func (a attempt) left(before *history.Revision) []object.ID {
	created := idsOf(a.created(before))
	return idsOf(a.outside(before, func(r event.Result) bool {
		changed := !r.Applied.IsZero() && !r.Unchanged && r.State != event.Deleted
		return changed && !slices.Contains(created, r.ID)
	}))
}

// notCreated returns the resources that the run wrote, that are not in a
// revision, and that may have existed before without being members of the
// set.
func (a attempt) notCreated(before *history.Revision) []event.Result {
	return a.outside(before, func(r event.Result) bool {
		written := !r.Sent.IsZero() && r.State != event.Deleted
		return written && !r.Absent && !r.Member && r.Created == ""
	})
}

// outside returns the results that fulfil a condition, of resources that are not in a
// revision; nil is a revision without resources.
func (a attempt) outside(before *history.Revision, fulfils func(event.Result) bool) []event.Result {
	held := before.IDs()
	return slices.DeleteFunc(slices.Clone(a.summary.Results), func(r event.Result) bool { return held[r.ID] || !fulfils(r) })
}

func idsOf(results []event.Result) []object.ID {
	var ids []object.ID
	for _, r := range results {
		ids = append(ids, r.ID)
	}
	return ids
}

// adopted returns the run's adoptions that are not in a revision.
func (a attempt) adopted(before *history.Revision) []history.Adopted {
	held, own := before.IDs(), map[object.ID]bool{}
	for _, r := range a.summary.Results {
		own[r.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(a.did.Adopted), func(one history.Adopted) bool { return one.Carried || held[one.ID] || !own[one.ID] })
}

// removeCreated deletes objects that a failed run created, in reverse order.
// Objects no longer in the set, or that replaced another under its name, are
// kept.
func (r Run) removeCreated(ctx context.Context, set *set.Set, created []event.Result) (event.Summary, error) {
	if len(created) == 0 {
		return event.Summary{}, nil
	}
	var wanted []ordering.Resource
	for _, result := range created {
		wanted = append(wanted, ordering.Resource{Meta: object.Meta{ID: result.ID}})
	}
	found, unread := apply.Find(ctx, r.Cluster, wanted) // the others are deleted
	if unread != nil {
		unread = fmt.Errorf("find the objects that the failed run created: %w", unread)
	}
	gone := map[object.ID]*unstructured.Unstructured{}
	for _, result := range created {
		live := found[result.ID]
		switch {
		case live == nil || !set.IsMember(live):
		case result.Created != "" && live.GetUID() == result.Created,
			result.Created == "" && write.WasCreatedBy(live, r.Applier.Manager):
			gone[result.ID] = live
		}
	}
	summary, err := memberDeletion{
		set: set, history: r.history(set), remover: r.Remover, removal: applyset.Prune, keepReason: r.essentialNamespaceReason,
		applyPlan: r.undone.removeAfter, onPlanned: func(order *ordering.Deletion) { r.OnRemoving(order.Plan()) }, alsoDeleted: r.undone.alsoDeleted,
	}.run(ctx, gone)
	return summary, errors.Join(unread, err)
}
