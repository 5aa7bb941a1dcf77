package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// prune deletes the members that the stream no longer holds, in the reverse of
// the order in which they were applied, and lets the set promise no more than
// what is left.
func (r Run) prune(ctx context.Context, set *Set) (apply.Summary, error) {
	members, err := set.Members(activity.For(ctx, "for the prune"))
	if err != nil {
		return apply.Summary{}, fmt.Errorf("prune: %w", err)
	}
	gone := r.leftOver(members)
	if err := r.neededDefinitions(gone); err != nil {
		return apply.Summary{}, fmt.Errorf("prune: %w", err)
	}
	summary, err := removal{
		set: set, history: r.history(), remover: r.Remover, keep: r.keeping(members),
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
	if err != nil || !r.Prune || !set.Known() {
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

// keeping says why a member must stay, when not all members are known: what is
// protected in a Namespace cannot be seen there.
func (r Run) keeping(members Members) func(object.ID) string {
	unknown := members.unknownKinds()
	return func(id object.ID) string {
		if slices.Contains(r.spared, id) {
			return "it may have been there before the failed run"
		}
		why := r.essential(id)
		if why == "" && len(unknown) > 0 && id.Group == "" && id.Kind == "Namespace" {
			why = fmt.Sprintf("members of kind %s may live in it, which cannot be listed now", unknown[0])
		}
		return why
	}
}

// essential keeps the Namespace that the set itself lives in, and those that
// resources of the stream live in.
func (r Run) essential(id object.ID) string {
	if id.Group != "" || id.Kind != "Namespace" {
		return ""
	}
	if id.Name == r.Namespace {
		return "the apply set is kept in it"
	}
	var inside []object.ID
	for member := range r.Stream.Objects {
		if member.Namespace == id.Name {
			inside = append(inside, member)
		}
	}
	if len(inside) == 0 {
		return ""
	}
	first := slices.MinFunc(inside, object.Compare)
	if more := len(inside) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more resources of this stream live in it", first, more)
	}
	return fmt.Sprintf("%s of this stream lives in it", first)
}

// members are the resources of the stream.
func (r Run) members() []object.ID { return slices.Collect(maps.Keys(r.Stream.Objects)) }
