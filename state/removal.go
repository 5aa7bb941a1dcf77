package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// removal deletes members of a set in the reverse of the order in which they
// were applied.
type removal struct {
	set     *Set
	history History
	remover apply.Remover
	// keep says why a member must stay for the set's own sake; "" when it may go.
	keep func(object.ID) string
	// ends is the plan of the apply that the deletion is the end of, if it is.
	ends *ordering.Plan
	// planned is told how it will go.
	planned func(*ordering.Deletion)
	// remarks are told with the plan.
	remarks []string
	// first is done when the plan was told, before anything is deleted; nil: nothing.
	first func(context.Context) error
	// leavesToo tells of objects that are deleted right after the members, such as
	// what hooks left: they keep no Namespace. nil: there are none.
	leavesToo func(found *unstructured.Unstructured) bool
}

// run deletes live members and nothing else.
func (r removal) run(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (apply.Summary, error) {
	if len(live) == 0 && len(r.remarks) == 0 {
		return apply.Summary{}, nil
	}
	order, defined, err := r.order(ctx, live)
	if err != nil {
		return apply.Summary{}, err
	}
	order.Ends = r.ends
	r.planned(order)
	if r.first != nil && !r.remover.DryRun {
		if err := r.first(ctx); err != nil {
			return apply.Summary{}, err
		}
	}
	if len(live) == 0 {
		return apply.Summary{}, nil
	}
	remover := r.remover
	remover.Keep, remover.Spare, remover.Set = r.mustStay, r.isSpared, r.set.Parent.SetID()
	if !remover.DryRun {
		leaving := departures{set: r.set, defined: defined}
		remover.Before = leaving.before
	}
	return remover.Run(ctx, order, live)
}

// preview adds to a preview what run would delete, in that order.
func (r removal) preview(ctx context.Context, live map[object.ID]*unstructured.Unstructured, preview *apply.Preview) error {
	if len(live) == 0 {
		return nil
	}
	order, _, err := r.order(ctx, live)
	if err != nil {
		return err
	}
	stays := r.stays(ctx, order, live)
	for _, step := range order.Steps {
		whole, err := r.whole(ctx, step.ID, live[step.ID])
		if err != nil {
			return err
		}
		preview.AddPruned(whole, ordering.Reason{Rule: "prune", Detail: "the apply set has it and the stream does not"}, stays[step.ID])
	}
	return nil
}

// stays tells which of the members would be kept, and why.
func (r removal) stays(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) map[object.ID]string {
	remover := r.remover
	remover.Keep, remover.Spare = r.mustStay, r.isSpared
	return remover.Stays(ctx, order, live)
}

// mustStay says why a live object that was a member is not deleted.
func (r removal) mustStay(live *unstructured.Unstructured) string {
	if !r.set.claims(live) {
		return "it is no member of the set any longer"
	}
	return r.keep(apply.Meta(live).ID)
}

// isSpared tells whether an object in a Namespace does not keep it.
func (r removal) isSpared(found *unstructured.Unstructured) bool {
	return r.isRecord(found) || r.leavesToo != nil && r.leavesToo(found)
}

// isRecord tells whether an object is one of those that the set itself is kept
// in.
func (r removal) isRecord(found *unstructured.Unstructured) bool {
	id, lease := apply.Meta(found).ID, LeaseOf(r.set.Parent.ID, r.history.namespace())
	return id == r.set.Parent.ID || id == lease || found.GetLabels()[setLabel] == r.set.Parent.SetID()
}

// order plans the deletion of live members by the newest revisions that hold
// them; of a member that none holds, by what it says itself. It also tells which
// kinds go with the CRDs among them.
func (r removal) order(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (*ordering.Deletion, map[object.ID]schema.GroupKind, error) {
	past, err := r.remembered(ctx, live)
	if err != nil {
		return nil, nil, err
	}
	defined := map[object.ID]schema.GroupKind{}
	for _, resource := range past.Resources {
		if gk, ok := definedKind(resource); ok {
			defined[resource.ID] = gk
		}
	}
	past.Options.KeepHooks = true
	deletion, err := ordering.DeletionOrder(past.Resources, past.Options)
	if err != nil { // what different revisions say need not fit together
		for i := range past.Resources {
			past.Resources[i] = withoutRules(past.Resources[i])
		}
		if deletion, err = ordering.DeletionOrder(past.Resources, ordering.Options{KeepHooks: true}); err != nil {
			return nil, nil, fmt.Errorf("plan the deletion: %w", err)
		}
	}
	deletion = deletion.Of(func(id object.ID) bool { return live[id] != nil }).With(slices.Collect(maps.Keys(live)))
	deletion.Notes = append(deletion.Notes, r.remarks...)
	return deletion, defined, nil
}

// remembered is the newest revision that holds one of the live members, with
// those members that only older revisions hold, or none.
func (r removal) remembered(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (Revision, error) {
	entries, err := r.history.List(ctx)
	if err != nil {
		return Revision{}, err
	}
	missing := maps.Clone(live)
	var past Revision
	for _, e := range slices.Backward(entries) {
		if len(missing) == 0 {
			break
		}
		revision, err := r.history.read(ctx, e)
		if errors.Is(err, errGone) { // with the Namespace, as a rule: it is as if it had not been listed
			continue
		}
		if err != nil {
			return past, err
		}
		past = withMissing(past, *revision, missing)
	}
	for _, id := range slices.SortedFunc(maps.Keys(missing), object.Compare) {
		full, err := r.whole(ctx, id, missing[id])
		if err != nil {
			return past, err
		}
		past.Resources = append(past.Resources, ordering.Resource{Meta: apply.Meta(full), Object: full.Object, Source: "the cluster"})
	}
	return past, nil
}

// withMissing adds to what is remembered what an older revision holds of what is
// missing. The first that holds something is taken as a whole: its rules speak
// of all that it has.
func withMissing(past, older Revision, missing map[object.ID]*unstructured.Unstructured) Revision {
	var found []ordering.Resource
	for _, resource := range older.Resources {
		if _, ok := missing[resource.ID]; ok {
			found = append(found, resource)
			delete(missing, resource.ID)
		}
	}
	if len(found) == 0 {
		return past
	}
	if len(past.Resources) == 0 {
		past.Options, found = older.Options, older.Resources
	}
	past.Resources = append(slices.Clone(past.Resources), found...)
	return past
}

// whole reads all of a member, if that can be had: what it holds may tell its
// place.
func (r removal) whole(ctx context.Context, id object.ID, known *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := known.GroupVersionKind()
	kind, _ := r.set.cluster.Kind(gvk)
	full, err := r.set.cluster.Get(ctx, kind, id.Namespace, id.Name)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return known, nil
	case err != nil:
		return nil, fmt.Errorf("read %s, which is to be deleted: %w", id, err)
	}
	full.SetGroupVersionKind(gvk)
	return full, nil
}

// withoutRules is a resource of which only its kind and what its manifest refers
// to tell the order.
func withoutRules(resource ordering.Resource) ordering.Resource {
	bare := &unstructured.Unstructured{Object: resource.Object}
	bare = bare.DeepCopy()
	bare.SetAnnotations(nil)
	resource.Object, resource.Annotations = bare.Object, nil
	return resource
}

// definedKind is the kind that a CustomResourceDefinition defines.
func definedKind(resource ordering.Resource) (schema.GroupKind, bool) {
	if resource.GroupKind() != "CustomResourceDefinition.apiextensions.k8s.io" {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(resource.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(resource.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, kind != ""
}

// departures let the set promise a kind no longer before its CRD goes: kubectl
// refuses a set that promises what is not served.
type departures struct {
	set     *Set
	defined map[object.ID]schema.GroupKind
	mu      sync.Mutex
}

func (d *departures) before(ctx context.Context, id object.ID) error {
	gk, ok := d.defined[id]
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set.forget(ctx, gk)
}
