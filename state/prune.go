package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// prune deletes the members that the stream no longer contains, in the
// reverse of the order in which they were applied, and narrows the set's
// kinds and namespaces to the rest. Members that an annotation protects leave the
// set. It reports whether no member is left that the stream does not contain.
// known reports where the stream has all members; nil: nowhere.
func (r Run) prune(ctx context.Context, set *set.Set, adopted history.Adoptions, known membersKnown) (event.Summary, bool, error) {
	if r.isFirst(set) {
		return event.Summary{}, true, nil
	}
	members, err := r.membersToPrune(activity.For(ctx, "for the prune"), set, known)
	if err != nil {
		return event.Summary{}, false, fmt.Errorf("prune: %w", err)
	}
	if _, err := r.claimLeft(ctx, set, &members); err != nil {
		return event.Summary{}, false, fmt.Errorf("prune: %w", err)
	}
	gone := r.pruneCandidates(members)
	if err := r.checkNotAll(gone); err != nil {
		return event.Summary{}, false, err
	}
	past, err := withhold(ctx, set, r.history(set), &members, gone, adopted)
	if err == nil {
		err = r.checkNeededDefinitions(gone)
	}
	if err != nil {
		return event.Summary{}, false, fmt.Errorf("prune: %w", err)
	}
	summary, err := memberDeletion{
		set: set, history: r.history(set), past: past, remover: r.Remover, removal: applyset.Prune, stays: staying(members, gone), keepReason: r.keepReasons(members),
		adopted: adopted, release: r.releaseAdopted,
		applyPlan: r.Plan, onPlanned: func(order *ordering.Deletion) { r.OnPruning(order.Plan()) }, notes: members.Remarks(),
	}.run(ctx, gone)
	if err != nil || r.Remover.DryRun {
		return summary, false, err
	}
	left, err := releaseProtected(ctx, set, summary, gone)
	if err != nil {
		return summary, false, fmt.Errorf("prune: %w", err)
	}
	left = slices.DeleteFunc(left, func(id object.ID) bool { _, released := adopted.Of(id); return released })
	complete := len(left) == 0 && len(members.Unknown) == 0 && len(members.PossibleMembers()) == 0
	set.ForgetFormer(func(id object.ID) bool { return slices.Contains(left, id) || !complete && gone[id] == nil })
	left = slices.Concat(left, r.members(), members.PossibleMembers())
	return summary, complete, set.Narrow(ctx, left, members.Unknown)
}

// membersKnown reports whether the stream has all members of a kind in a namespace, "" for a
// cluster-scoped kind.
type membersKnown func(kind schema.GroupKind, namespace string) bool

// knownMembers returns what the run knows about the members from the objects that it read before
// its first write, if there was no write; else nil.
func (r Run) knownMembers(tried *attempt) membersKnown {
	if len(r.hooks()) > 0 || len(r.Applier.Sent) > 0 || tried.summary.Unchanged() < len(r.Stream.Objects) {
		return nil
	}
	return tried.namesAllMembers
}

// membersToPrune returns the members among which some may have to be deleted: all, unless the others
// are known to be in the stream, and no member is not.
func (r Run) membersToPrune(ctx context.Context, set *set.Set, known membersKnown) (set.Members, error) {
	if known != nil && len(set.TakenFrom()) == 0 {
		members, err := set.MembersElsewhere(ctx, known)
		if err != nil || len(r.pruneCandidates(members)) == 0 {
			return members, err
		}
	}
	return set.Members(ctx) // what stays decides about what goes
}

// isFirst reports whether the set had no members before the run, and takes over none: only the
// stream's are members now.
func (r Run) isFirst(set *set.Set) bool {
	return !r.TakeOver && len(set.TakenFrom()) == 0 && set.WasEmpty(r.members())
}

// isEmpty reports whether nothing in the stream would be a member: hooks, also Argo CD's
// within its waves, and objects that another tool's policy has the run leave alone, are none.
func (r Run) isEmpty() bool {
	for _, obj := range r.Stream.Objects {
		annotations := obj.GetAnnotations()
		policy, _ := applyset.PolicyOf(obj, nil)
		if !edges.IsArgoHook(annotations) && !hook.IsHook(annotations) && (policy == applyset.Apply || policy == applyset.CreateOnly) {
			return false
		}
	}
	return true
}

// checkEmptyPrune returns an error before the first write of a run that would prune all
// members of the set.
func (r Run) checkEmptyPrune(ctx context.Context, set *set.Set) error {
	if !r.Prune || !r.isEmpty() || !set.Known() {
		return nil
	}
	members, err := set.Members(activity.For(ctx, "for the prune"))
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	return r.checkNotAll(r.pruneCandidates(members))
}

// checkNotAll returns an error when a stream without resources would prune members.
func (r Run) checkNotAll(gone map[object.ID]*unstructured.Unstructured) error {
	if len(gone) > 0 && r.isEmpty() {
		return errEmptyPrune
	}
	return nil
}

// errEmptyPrune is the error of a run that would prune all members: a stream that lost its
// resources is more likely than one that means it.
var errEmptyPrune = errors.New("prune: the stream contains no resources of the set, so that all members of the apply set would be deleted: add the resources, or delete the set with ordapply delete --applyset")

// listRevisions returns the revisions of the set as it is managed now. An account that may
// not read them goes on without: a dry run needs no such permission.
func (r Run) listRevisions(ctx context.Context, set *set.Set) ([]history.Entry, error) {
	entries, err := r.history(set).List(activity.For(ctx, "for the history"))
	if apierrors.IsForbidden(err) {
		err = nil
	}
	return history.Current(entries), err
}

// ordersOf returns the SortOrders of the newest of a set's revisions.
func ordersOf(entries []history.Entry) []string {
	if len(entries) == 0 {
		return nil
	}
	return entries[len(entries)-1].Orders()
}

// dryRun does a dry run of the apply and of the prune.
func (r Run) dryRun(ctx context.Context, set *set.Set) (event.Summary, error) {
	if err := r.Precondition(ctx); err != nil {
		return event.Summary{}, err
	}
	prepared, summary, err := r.around(&attempt{set: set}).Prepare(ctx)
	if err != nil {
		return summary, err
	}
	entries, err := r.listRevisions(ctx, set)
	if err == nil {
		err = r.OnExisting(prepared.Existing(), ordersOf(entries))
	}
	if err != nil {
		return prepared.Abandon(err)
	}
	summary, err = prepared.Run(ctx, apply.Hooks{})
	if err != nil || !r.Prune {
		return summary, err
	}
	existing, _ := r.existing(ctx)
	if _, err := r.takeFrom(ctx, set, r.adopted(ctx, existing)); err != nil {
		return summary, err
	}
	if !set.Known() && len(set.TakenFrom()) == 0 {
		return summary, nil
	}
	r.Remover.DryRun = true
	pruned, _, err := r.prune(ctx, set, r.adoptions(entries), nil)
	return summary.Append(pruned), err
}

// pruneCandidates returns the live members that are not in the stream, neither by ID
// nor as the same object in another API group.
func (r Run) pruneCandidates(members set.Members) map[object.ID]*unstructured.Unstructured {
	wanted := map[types.UID]bool{}
	gone := map[object.ID]*unstructured.Unstructured{}
	for id, live := range members.Live {
		if r.contains(id) {
			wanted[live.GetUID()] = true
		}
	}
	for id, live := range members.Live {
		if !r.contains(id) && !wanted[live.GetUID()] {
			gone[id] = live
		}
	}
	return gone
}

// staying returns the live members that are not gone with a prune; none if nothing is.
func staying(members set.Members, gone map[object.ID]*unstructured.Unstructured) []*unstructured.Unstructured {
	if len(gone) == 0 {
		return nil
	}
	var left []*unstructured.Unstructured
	for _, id := range slices.SortedFunc(maps.Keys(members.Live), object.Compare) {
		if gone[id] == nil {
			left = append(left, members.Live[id])
		}
	}
	return left
}

// keepReasons returns why a member must be kept. When not all members can be
// listed, Namespaces are kept: they may contain protected members.
func (r Run) keepReasons(members set.Members) func(object.ID) string {
	unknown := members.UnknownKinds()
	return func(id object.ID) string {
		why := r.essentialNamespaceReason(id)
		if why == "" && len(unknown) > 0 && id.Group == "" && id.Kind == "Namespace" {
			why = fmt.Sprintf("it may contain members of kind %s, which cannot be listed", unknown[0])
		}
		return why
	}
}
