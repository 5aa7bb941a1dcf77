package state

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// prune deletes the members that the stream no longer contains, in the
// reverse of the order in which they were applied, and narrows the set's
// kinds and namespaces to what is left.
func (r Run) prune(ctx context.Context, set *Set) (apply.Summary, error) {
	members, err := set.Members(activity.For(ctx, "for the prune"))
	if err != nil {
		return apply.Summary{}, fmt.Errorf("prune: %w", err)
	}
	gone := r.pruneCandidates(members)
	if err := r.checkNeededDefinitions(gone); err != nil {
		return apply.Summary{}, fmt.Errorf("prune: %w", err)
	}
	summary, err := memberDeletion{
		set: set, history: r.history(), remover: r.Remover, keepReason: r.keepReasons(members),
		applyPlan: r.Plan, onPlanned: func(order *ordering.Deletion) { r.OnPruning(order.Plan()) }, notes: members.Remarks(),
	}.run(ctx, gone)
	if err != nil || r.Remover.DryRun {
		return summary, err
	}
	left := append(r.members(), members.PossibleMembers()...)
	for _, result := range summary.Results {
		if result.State != apply.Deleted {
			left = append(left, result.ID)
		}
	}
	return summary, set.Narrow(ctx, left, members.Unknown)
}

// dryRun does a dry run of the apply and of the prune.
func (r Run) dryRun(ctx context.Context, set *Set) (apply.Summary, error) {
	summary, err := r.Applier.Run(ctx, r.Plan, r.Stream.Objects)
	if err != nil || !r.Prune || !set.Known() {
		return summary, err
	}
	r.Remover.DryRun = true
	pruned, err := r.prune(ctx, set)
	return summary.Append(pruned), err
}

// pruneCandidates returns the live members that are not in the stream, neither by ID
// nor as the same object in another API group.
func (r Run) pruneCandidates(members Members) map[object.ID]*unstructured.Unstructured {
	wanted := map[types.UID]bool{}
	gone := map[object.ID]*unstructured.Unstructured{}
	for id, live := range members.Live {
		if r.Stream.Objects[id] != nil {
			wanted[live.GetUID()] = true
		}
	}
	for id, live := range members.Live {
		if r.Stream.Objects[id] == nil && !wanted[live.GetUID()] {
			gone[id] = live
		}
	}
	return gone
}

// keepReasons returns why a member must be kept. When not all members can be
// listed, Namespaces are kept: they may contain protected members.
func (r Run) keepReasons(members Members) func(object.ID) string {
	unknown := members.UnknownKinds()
	return func(id object.ID) string {
		if slices.Contains(r.undone.keptMembers, id) {
			return "it may have existed before the failed run"
		}
		why := r.essentialNamespaceReason(id)
		if why == "" && len(unknown) > 0 && id.Group == "" && id.Kind == "Namespace" {
			why = fmt.Sprintf("it may contain members of kind %s, which cannot be listed", unknown[0])
		}
		return why
	}
}
