package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Leftovers returns the hooks whose objects exist and were made by a run of this
// owner, each ID once, sorted.
func (r Runner) Leftovers(ctx context.Context, all hook.Hooks) ([]hook.Hook, error) {
	var out []hook.Hook
	var errs []error
	seen := map[object.ID]bool{}
	for _, hook := range all {
		if seen[hook.ID] {
			continue
		}
		seen[hook.ID] = true
		if hook.IsUnnamed() {
			named, err := r.named(ctx, hook)
			out, errs = append(out, named...), append(errs, err)
			continue
		}
		live, err := find(ctx, r.Applier.Cluster, hook)
		if err != nil {
			errs = append(errs, err)
		}
		if live != nil && r.IsOwn(live) {
			out = append(out, hook)
		}
	}
	slices.SortFunc(out, func(a, b hook.Hook) int { return object.Compare(a.ID, b.ID) })
	return out, errors.Join(errs...)
}

// named returns a hook without a name once for each object of it that this owner's runs left.
func (r Runner) named(ctx context.Context, hook hook.Hook) (out []hook.Hook, err error) {
	wanted := (&unstructured.Unstructured{Object: hook.Object}).GroupVersionKind()
	err = kube.ReadServed(ctx, r.Applier.Cluster, wanted.GroupKind(), func(gvk schema.GroupVersionKind, kind kube.Kind) error {
		list, err := r.Applier.Cluster.List(ctx, kind, hook.Namespace, kube.Query{})
		for _, live := range list {
			live.SetGroupVersionKind(gvk)
			if one, is := hook.RanAs(kube.Meta(live).ID); is && r.IsOwn(live) {
				out = append(out, one)
			}
		}
		return err
	}, wanted.Version)
	if err != nil {
		return nil, fmt.Errorf("list what runs of hook %s… left behind: %w", hook.ID, err)
	}
	return out, nil
}

// CheckServed returns an error when a kind of these hooks is not served now and may have
// objects, so that it is unknown what the hooks left behind.
func (r Runner) CheckServed(ctx context.Context, all hook.Hooks) error {
	var errs []error
	seen := map[schema.GroupKind]bool{}
	for _, hook := range all {
		gk := schema.GroupKind{Group: hook.Group, Kind: hook.Kind}
		if seen[gk] || len(r.Applier.Cluster.Versions(gk)) > 0 {
			continue
		}
		seen[gk] = true
		if err := kube.ReadServed(ctx, r.Applier.Cluster, gk, func(schema.GroupVersionKind, kube.Kind) error { return nil }); err != nil {
			errs = append(errs, fmt.Errorf("%s is a hook of the apply set: %w. Fix that, then run this again", hook.ID, err))
		}
	}
	return errors.Join(errs...)
}

// RemoveLeftovers deletes the leftovers of hooks when the owner itself is deleted: Namespaces
// last, as other hooks' objects may be in them. Each object is reported as a hook of its own
// event. CustomResourceDefinitions stay, and so do objects that their author protects, that are
// members of another set, or that belong to another owner by their name.
func (r Runner) RemoveLeftovers(ctx context.Context, all hook.Hooks, others map[object.ID]bool) ([]event.Result, error) {
	left, err := r.Leftovers(ctx, all)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(left, func(a, b hook.Hook) int { return isNamespace(a) - isNamespace(b) })
	run := &hookRun{Runner: r, sparing: true}
	var errs []error
	for _, hook := range left {
		if !hook.IsKept() && !others[hook.ID] {
			run.event = hook.Events[0]
			errs = append(errs, run.remove(ctx, hook))
		}
	}
	return run.results, errors.Join(errs...)
}

// WillRemove reports whether RemoveLeftovers deletes a live object, so that it need not keep
// its Namespace. A copy of it under another name does not count.
func (r Runner) WillRemove(all hook.Hooks, found *unstructured.Unstructured) bool {
	id := kube.Meta(found).ID
	return r.IsOwn(found) && !r.isSpared(found) && slices.ContainsFunc(all, func(hook hook.Hook) bool {
		_, named := hook.RanAs(id)
		return named || hook.ID == id
	})
}

func isNamespace(hook hook.Hook) int {
	if hook.GroupKind() == "Namespace" {
		return 1
	}
	return 0
}
