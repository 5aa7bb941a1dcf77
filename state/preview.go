package state

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/set"
)

// Preview reports the changes of Do, including its prune. It writes nothing and
// takes no lock. Errors of the run are rows; the returned error is about the set.
func (r Run) Preview(ctx context.Context) (*preview.Preview, error) {
	r.Cluster = kube.RetryingReads{Cluster: r.Cluster}
	r.Remover.Cluster = r.Cluster
	r = r.withDefaults()
	if err := r.checkParentNotInStream(); err != nil {
		return nil, err
	}
	return r.preview(ctx)
}

func (r Run) preview(ctx context.Context) (*preview.Preview, error) {
	set, err := r.openRecovered(ctx, true)
	if err != nil {
		return nil, err
	}
	if !set.Known() || set.Home() != "" {
		if err := r.checkRecordsNamespace(ctx, set); err != nil {
			return nil, err
		}
	}
	if err := r.assumeMigrated(ctx, set); err != nil {
		return nil, err
	}
	preview, err := r.Applier.Preview(ctx, r.Plan, r.Stream.Objects)
	if err != nil {
		return preview, err
	}
	if len(r.Plan.Orders()) == 0 {
		entries, err := r.listRevisions(ctx, set)
		if err != nil {
			return nil, err
		}
		preview.FormerOrders = ordersOf(entries)
	}
	if note := r.record(set).keepingNote(); note != "" {
		preview.Notes = append(preview.Notes, note)
	}
	if err := r.previewHooks(ctx, set, preview); err != nil {
		return nil, err
	}
	notes, err := r.takeFrom(ctx, set, r.adoptedIn(ctx, preview))
	if err != nil {
		return nil, err
	}
	preview.Notes = append(preview.Notes, notes...)
	if !r.Prune || !set.Known() && len(set.TakenFrom()) == 0 {
		return preview, nil
	}
	pruning, gone, err := r.plannedPrune(ctx, set)
	if err != nil {
		return nil, err
	}
	preview.Notes = append(preview.Notes, pruning.notes...)
	return preview, pruning.preview(ctx, gone, preview)
}

// plannedPrune returns the prune of Do, and its members.
func (r Run) plannedPrune(ctx context.Context, set *set.Set) (memberDeletion, map[object.ID]*unstructured.Unstructured, error) {
	set.Parent = set.Parent.WithMembers(r.members()) // as it will be then
	members, err := set.Members(ctx)
	if err != nil {
		return memberDeletion{}, nil, fmt.Errorf("find the objects to prune: %w", err)
	}
	r.Remover.DryRun = true
	titles, err := r.claimLeft(ctx, set, &members)
	if err != nil {
		return memberDeletion{}, nil, fmt.Errorf("find the objects to prune: %w", err)
	}
	entries, err := r.listRevisions(ctx, set)
	if err != nil {
		return memberDeletion{}, nil, err
	}
	gone := r.pruneCandidates(members)
	if err := r.checkNotAll(gone); err != nil {
		return memberDeletion{}, nil, err
	}
	past, err := withhold(ctx, set, r.history(set), &members, gone, r.adoptions(entries))
	if err != nil {
		return memberDeletion{}, nil, err
	}
	pruning := memberDeletion{
		set: set, history: r.history(set), past: past, remover: r.Remover, removal: applyset.Prune, stays: staying(members, gone), keepReason: r.keepReasons(members),
		adopted: r.adoptions(entries), titles: titles, applyPlan: r.Plan, notes: set.WithRecoveryNote(members.Remarks()),
	}
	if err := r.takenByHooks(ctx, set, gone, entries); err != nil {
		return memberDeletion{}, nil, err
	}
	if err := r.checkNeededDefinitions(gone); err != nil {
		return memberDeletion{}, nil, fmt.Errorf("prune: %w", err)
	}
	return pruning, gone, nil
}

// PlanWithPrune returns the plan of Do, followed by the waves in which it would
// prune. Members that are kept are in none of these; the notes give the
// reasons. It reads the set and sends no dry runs.
func (r Run) PlanWithPrune(ctx context.Context) (*ordering.Plan, error) {
	r.Cluster = kube.RetryingReads{Cluster: r.Cluster}
	r.Remover.Cluster = r.Cluster
	r = r.withDefaults()
	if !r.Prune {
		_, err := r.open(ctx, r.TakeOver)
		return r.Plan, err
	}
	set, err := r.openRecovered(ctx, true)
	if err != nil {
		return nil, err
	}
	existing, _ := r.existing(ctx)
	if _, err := r.takeFrom(ctx, set, r.adopted(ctx, existing)); err != nil {
		return nil, err
	}
	if !set.Known() && len(set.TakenFrom()) == 0 {
		return r.Plan, nil
	}
	pruning, gone, err := r.plannedPrune(ctx, set)
	if err != nil {
		return nil, err
	}
	return pruning.outline(ctx, gone)
}

// assumeMigrated makes a run that writes nothing treat the members of another
// tool's set as if MigrateMembers had run.
func (r *Run) assumeMigrated(ctx context.Context, set *set.Set) error {
	if !set.IsOtherTool() {
		return nil
	}
	members, err := set.Members(ctx)
	if err != nil {
		return fmt.Errorf("find the objects to take over: %w", err)
	}
	former := slices.Clone(r.Applier.Membership.PreviousManagers)
	for _, live := range members.Live {
		former = append(former, applyset.MembershipManagers(live)...)
	}
	slices.Sort(former)
	r.Applier.Membership.PreviousManagers = slices.Compact(former)
	return nil
}

// check calls Precondition and Check, which may stop the run.
func (r Run) check(ctx context.Context) error {
	if err := r.Precondition(ctx); err != nil {
		return err
	}
	if r.Check == nil {
		return nil
	}
	preview, err := r.preview(ctx)
	if err != nil {
		return err
	}
	return r.Check(ctx, preview, r.Applier.Sent)
}
