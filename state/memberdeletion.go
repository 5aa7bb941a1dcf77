package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// memberDeletion deletes members of a set in the reverse of the order in which they
// were applied.
type memberDeletion struct {
	set     *set.Set
	history history.History
	past    *pastMembers // nil: order reads it
	remover remove.Remover
	removal applyset.Removal             // why the members are deleted
	stays   []*unstructured.Unstructured // the members that are not deleted
	// keepReason returns why a member must be kept for the set's own sake; "" when
	// it may be deleted.
	keepReason func(object.ID) string
	// adopted are members that are released instead of deleted, by release.
	adopted history.Adoptions
	release func(context.Context, *set.Set, []history.Adopted) error
	// titles names, by member, the record of another tool from which the set takes it over.
	titles map[object.ID]string
	// applyPlan is the plan of the apply that ends with this deletion, if any.
	applyPlan *ordering.Plan
	// onPlanned is called with the order of the deletion.
	onPlanned func(*ordering.Deletion)
	// notes are added to the notes of the order.
	notes []string
	// reportsEmpty reports a deletion of nothing too, because more follows it.
	reportsEmpty bool
	// beforeDelete is called after onPlanned, before anything is deleted; optional.
	beforeDelete func(context.Context) error
	// alsoDeleted reports objects that are deleted right after the members,
	// such as leftovers of hooks: they do not keep a Namespace. Optional.
	alsoDeleted func(found *unstructured.Unstructured) bool
}

// run deletes these live members and nothing else.
func (r memberDeletion) run(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (event.Summary, error) {
	if len(live) == 0 && len(r.notes) == 0 && !r.reportsEmpty {
		return event.Summary{}, nil
	}
	order, defined, err := r.order(ctx, live)
	if err != nil {
		return event.Summary{}, err
	}
	order.FollowsPlan = r.applyPlan
	r.onPlanned(order)
	if r.beforeDelete != nil && !r.remover.DryRun {
		if err := r.beforeDelete(ctx); err != nil {
			return event.Summary{}, err
		}
	}
	if len(live) == 0 {
		return event.Summary{}, nil
	}
	remover := r.remover
	remover.Removal, remover.Stays, remover.KeepReason, remover.Ignore, remover.Set = r.removal, r.stays, r.mustKeep, r.isIgnored, r.set.Parent.SetID()
	if !remover.DryRun {
		leaving := crdDeletions{set: r.set, defined: defined}
		remover.Before = leaving.before
	}
	summary, err := remover.Run(ctx, order, live)
	if err != nil || remover.DryRun || r.release == nil {
		return summary, err
	}
	return summary, r.release(ctx, r.set, r.adoptedOf(live))
}

// adoptedOf returns the adoptions of live members that are released.
func (r memberDeletion) adoptedOf(live map[object.ID]*unstructured.Unstructured) []history.Adopted {
	var out []history.Adopted
	for _, id := range slices.SortedFunc(maps.Keys(live), object.Compare) {
		if a, ok := r.adopted.Of(id); ok {
			out = append(out, a)
		}
	}
	return out
}

// preview adds to a preview the deletions of run, in their order.
func (r memberDeletion) preview(ctx context.Context, live map[object.ID]*unstructured.Unstructured, preview *preview.Preview) error {
	if len(live) == 0 {
		return nil
	}
	order, _, err := r.order(ctx, live)
	if err != nil {
		return err
	}
	keepReasons := r.kept(ctx, order, live)
	for _, step := range order.Steps {
		whole, err := r.readFull(ctx, step.ID, live[step.ID])
		if err != nil {
			return err
		}
		preview.AddPruned(ctx, whole, ordering.Reason{Rule: "prune", Detail: "in " + r.containerOf(step.ID) + " but not in the stream"}, keepReasons[step.ID])
	}
	return nil
}

// containerOf names the set or record that contains a member not in the stream.
func (r memberDeletion) containerOf(id object.ID) string {
	if title := r.titles[id]; title != "" {
		return title + ", which the set takes over,"
	}
	return "the apply set"
}

// outline returns the plan that run would follow.
func (r memberDeletion) outline(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (*ordering.Plan, error) {
	if len(live) == 0 && len(r.notes) == 0 {
		return r.applyPlan, nil
	}
	order, _, err := r.order(ctx, live)
	if err != nil {
		return nil, err
	}
	keepReasons := r.kept(ctx, order, live)
	deletions := order.Filter(func(id object.ID) bool { return keepReasons[id] == "" })
	for _, step := range order.Steps {
		if why := keepReasons[step.ID]; why != "" {
			deletions.Notes = append(deletions.Notes, fmt.Sprintf("%s is kept although the stream no longer contains it: %s", step.ID, why))
		}
	}
	deletions.FollowsPlan = r.applyPlan
	return deletions.Plan(), nil
}

// kept returns the members that would be kept, with the reasons.
func (r memberDeletion) kept(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) map[object.ID]string {
	remover := r.remover
	remover.Removal, remover.Stays, remover.KeepReason, remover.Ignore = r.removal, r.stays, r.mustKeep, r.isIgnored
	return remover.Kept(ctx, order, live)
}

// mustKeep returns why a live object that was a member must not be deleted.
func (r memberDeletion) mustKeep(live *unstructured.Unstructured) string {
	if !r.set.IsMember(live) {
		return "it is no longer a member of the set"
	}
	id := kube.Meta(live).ID
	if _, adopted := r.adopted.Of(id); adopted {
		return "it existed before a run adopted it that is undone or did not become ready: it is released from the set"
	}
	return r.keepReason(id)
}

// isIgnored reports whether an object in a Namespace does not keep it.
func (r memberDeletion) isIgnored(found *unstructured.Unstructured) bool {
	return r.isRecord(found) || r.alsoDeleted != nil && r.alsoDeleted(found)
}

// isRecord reports whether an object is one of the set's own records.
func (r memberDeletion) isRecord(found *unstructured.Unstructured) bool {
	id, own := kube.Meta(found).ID, lease.Of(r.set.Parent.ID, cmp.Or(r.history.Namespace, r.set.Parent.ID.Namespace))
	return id == r.set.Parent.ID || id == own || r.history.IsRecord(found)
}

// order plans the deletion of live members from the newest revisions that
// contain them, and from the live objects for members in no revision. It also
// returns the kinds that the CRDs among them define.
func (r memberDeletion) order(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (*ordering.Deletion, map[object.ID]schema.GroupKind, error) {
	past, damaged, err := r.pastRevision(ctx, live)
	if err != nil {
		return nil, nil, err
	}
	defined := map[object.ID]schema.GroupKind{}
	for _, resource := range past.Resources {
		if gk, ok := kube.DefinedKind(&unstructured.Unstructured{Object: resource.Object}); ok {
			defined[resource.ID] = gk
		}
	}
	past.Options.KeepHooks = true
	deletion, err := planner.DeletionOrder(past.Resources, past.Options)
	if err != nil { // the rules of different revisions may contradict each other
		for i := range past.Resources {
			past.Resources[i] = withoutAnnotations(past.Resources[i])
		}
		if deletion, err = planner.DeletionOrder(past.Resources, ordering.Options{KeepHooks: true}); err != nil {
			return nil, nil, fmt.Errorf("plan the deletion: %w", err)
		}
	}
	deletion = deletion.Filter(func(id object.ID) bool { return live[id] != nil }).WithRemaining(slices.Collect(maps.Keys(live)))
	deletion.Notes = slices.Concat(deletion.Notes, r.notes, damaged)
	return deletion, defined, nil
}

// pastRevision returns the newest revision that contains one of the live
// members, extended by the members that are only in older revisions or in
// none.
func (r memberDeletion) pastRevision(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (history.Revision, []string, error) {
	known := r.past
	if known == nil {
		var err error
		if known, err = readPast(ctx, r.history, live); err != nil {
			return history.Revision{}, nil, err
		}
	}
	past := known.revision
	for _, id := range slices.SortedFunc(maps.Keys(known.missing), object.Compare) {
		if live[id] == nil {
			continue
		}
		full, err := r.readFull(ctx, id, live[id])
		if err != nil {
			return past, nil, err
		}
		past.Resources = append(past.Resources, ordering.Resource{Meta: kube.Meta(full), Object: full.Object, Source: "the cluster"})
	}
	return past, known.notes, nil
}

// readFull reads the whole object of a member, if possible: its references may
// decide its place.
func (r memberDeletion) readFull(ctx context.Context, id object.ID, known *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := known.GroupVersionKind()
	kind, _ := r.remover.Cluster.Kind(gvk)
	full, err := r.remover.Cluster.Get(ctx, kind, id.Namespace, id.Name)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return known, nil
	case err != nil:
		return nil, fmt.Errorf("read %s, which is to be deleted: %w", id, err)
	}
	full.SetGroupVersionKind(gvk)
	return full, nil
}

// withoutAnnotations returns a resource without annotations, so that only its kind
// and its references decide the order.
func withoutAnnotations(resource ordering.Resource) ordering.Resource {
	bare := &unstructured.Unstructured{Object: resource.Object}
	bare = bare.DeepCopy()
	bare.SetAnnotations(nil)
	resource.Object, resource.Annotations = bare.Object, nil
	return resource
}

// crdDeletions removes a kind from the set before its CRD is deleted: kubectl
// rejects a set with kinds that are not served.
type crdDeletions struct {
	set     *set.Set
	defined map[object.ID]schema.GroupKind
	mu      sync.Mutex
}

func (d *crdDeletions) before(ctx context.Context, id object.ID) error {
	gk, ok := d.defined[id]
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set.RemoveKind(ctx, gk)
}
