package hooks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/live/inventory"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// The hooks of a Helm release leave objects behind, and Helm replaces them in its next run. So
// does the run that moves the release over: the hooks in Helm's record of the stream's objects
// become the owner's before the first hook runs.

// takeLeftovers takes over the objects that the hooks of a Helm release left behind.
func (a *Around) takeLeftovers(ctx context.Context) error {
	left, _, err := a.foreignObjects(ctx)
	if err != nil {
		return err
	}
	for id, live := range left {
		if err := a.Runner.take(ctx, live); err != nil {
			return fmt.Errorf("take over %s, which a hook of a Helm release left behind: %w", id, err)
		}
	}
	return nil
}

// AddTo adds to a preview the events whose hooks would run, and the errors with which they
// would fail because of their fields, or of objects that no run of the owner made.
func (a *Around) AddTo(ctx context.Context, to *preview.Preview) error {
	events, err := a.events(ctx)
	if err != nil {
		return err
	}
	_, foreign, err := a.foreignObjects(ctx)
	if err != nil {
		return err
	}
	to.HookErrors = append(to.HookErrors, a.fieldErrors(ctx, events)...)
	for _, hookEvent := range events {
		to.HookEvents = append(to.HookEvents, string(hookEvent))
		for _, hook := range a.Hooks.Of(hookEvent) {
			if live := foreign[hook.ID]; live != nil {
				to.HookErrors = append(to.HookErrors, &event.Error{Wave: string(hookEvent) + " hook", Op: event.OpApply, ID: hook.ID, Err: a.Runner.foreign(hook, live)})
			}
		}
	}
	return nil
}

// foreignObjects returns the live objects of hooks that no run of the owner made: leftovers of
// a Helm release, and others that the owner may not replace.
func (a *Around) foreignObjects(ctx context.Context) (left, others map[object.ID]*unstructured.Unstructured, err error) {
	left, others = map[object.ID]*unstructured.Unstructured{}, map[object.ID]*unstructured.Unstructured{}
	for _, hook := range a.Hooks {
		live, err := find(ctx, a.Runner.Applier.Cluster, hook)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case live == nil || live.GetDeletionTimestamp() != nil:
		case !hook.Argo && isUnownedHook(live):
			left[hook.ID] = live
		case !a.Runner.mayReplace(hook, live):
			others[hook.ID] = live
		}
	}
	recorded := map[object.ID]bool{}
	if len(left) > 0 && !a.Runner.KeepLeftovers {
		recorded, err = a.recordedHooks(ctx)
	}
	for _, hook := range a.Hooks {
		live := left[hook.ID]
		if live == nil || recorded[hook.ID] {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		delete(left, hook.ID)
		if !a.Runner.mayReplace(hook, live) {
			others[hook.ID] = live
		}
	}
	return left, others, nil
}

// isUnownedHook reports whether a live object is a hook's, and belongs to no run of this
// program and no set.
func isUnownedHook(live *unstructured.Unstructured) bool {
	return hook.IsHook(live.GetAnnotations()) && live.GetAnnotations()[OwnerAnnotation] == "" && applyset.Owner(live) == "" && applyset.Record(live) == ""
}

// recordedHooks returns the hooks of the Helm releases that name, and are named by, live
// objects of the stream. Without the permission to read them, there are none.
func (a *Around) recordedHooks(ctx context.Context) (map[object.ID]bool, error) {
	found, err := apply.Find(ctx, a.Runner.Applier.Cluster, a.Stream.Resources)
	if err != nil {
		return nil, nil
	}
	recorded := map[object.ID]bool{}
	releases, err := inventory.Of(ctx, a.Runner.Applier.Cluster, found, inventory.Helm)
	for _, release := range releases {
		for _, id := range release.Hooks {
			recorded[id] = true
		}
	}
	if apierrors.IsForbidden(err) {
		err = nil
	}
	return recorded, err
}

// take marks a live object as a hook of the owner.
func (r Runner) take(ctx context.Context, live *unstructured.Unstructured) error {
	kind, _ := r.Applier.Cluster.Kind(live.GroupVersionKind())
	body := write.Identity(live)
	body.SetAnnotations(map[string]string{OwnerAnnotation: r.owner()})
	_, err := r.Applier.Cluster.Apply(ctx, kind, body, kube.PatchOptions{Manager: r.Applier.Manager})
	if kube.IsGone(err) {
		return nil
	}
	return err
}
