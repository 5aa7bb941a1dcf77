package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// prune deletes the members that the stream no longer holds, in the reverse of
// the order in which they were applied, and lets the set promise no more than
// what is left.
func (r Run) prune(ctx context.Context, set *Set) (apply.Summary, error) {
	members, err := set.Members(ctx)
	if err != nil {
		return apply.Summary{}, fmt.Errorf("prune: %w", err)
	}
	gone := r.leftOver(members)
	summary, err := removal{
		set: set, history: r.history(), remover: r.Remover, keep: r.essential,
		ends: r.Plan, planned: func(order *ordering.Deletion) { r.Pruning(order.Plan()) }, remarks: members.Remarks(),
	}.run(ctx, gone)
	if err != nil || r.Remover.DryRun {
		return summary, err
	}
	left := append(r.members(), members.doubtful()...)
	for _, result := range summary.Results {
		if result.State != apply.Deleted {
			left = append(left, result.ID)
		}
	}
	return summary, set.Narrow(ctx, left, members.Unknown)
}

// rehearse lets the server check what would be applied, and then what would be
// pruned.
func (r Run) rehearse(ctx context.Context, set *Set) (apply.Summary, error) {
	summary, err := r.Applier.Run(ctx, r.Plan, r.Stream.Objects)
	if err != nil || !r.Prune || !set.Exists() {
		return summary, err
	}
	r.Remover.DryRun = true
	pruned, err := r.prune(ctx, set)
	return summary.And(pruned), err
}

// leftOver are the live members that are none of the stream's resources, by name
// or under another group.
func (r Run) leftOver(members Members) map[object.ID]*unstructured.Unstructured {
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

// essential keeps the Namespace that the set itself lives in.
func (r Run) essential(id object.ID) string {
	if id == (object.ID{Kind: "Namespace", Name: r.Namespace}) {
		return "the apply set is kept in it"
	}
	return ""
}

// members are the resources of the stream.
func (r Run) members() []object.ID { return slices.Collect(maps.Keys(r.Stream.Objects)) }
