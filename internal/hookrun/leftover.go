package hookrun

import (
	"context"
	"errors"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
)

// Leftovers returns the hooks whose objects exist and were made by a run of this
// owner, each ID once, sorted.
func (r Runner) Leftovers(ctx context.Context, all hooks.Hooks) ([]hooks.Hook, error) {
	var out []hooks.Hook
	var errs []error
	seen := map[object.ID]bool{}
	for _, hook := range all {
		if seen[hook.ID] {
			continue
		}
		seen[hook.ID] = true
		live, err := find(ctx, r.Applier.Cluster, hook)
		if err != nil {
			errs = append(errs, err)
		}
		if live != nil && r.IsOwn(live) {
			out = append(out, hook)
		}
	}
	slices.SortFunc(out, func(a, b hooks.Hook) int { return object.Compare(a.ID, b.ID) })
	return out, errors.Join(errs...)
}

// RemoveLeftovers deletes what hooks have left behind, when the owner itself is deleted:
// Namespaces last, which other hooks' objects may be in. Each object is reported as a
// hook of its own event. CustomResourceDefinitions stay.
func (r Runner) RemoveLeftovers(ctx context.Context, all hooks.Hooks) ([]apply.Result, error) {
	left, err := r.Leftovers(ctx, all)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(left, func(a, b hooks.Hook) int { return isNamespace(a) - isNamespace(b) })
	run := &hookRun{Runner: r}
	var errs []error
	for _, hook := range left {
		if !hook.IsKept() {
			run.event = hook.Events[0]
			errs = append(errs, run.remove(ctx, hook))
		}
	}
	return run.results, errors.Join(errs...)
}

func isNamespace(hook hooks.Hook) int {
	if hook.GroupKind() == "Namespace" {
		return 1
	}
	return 0
}
