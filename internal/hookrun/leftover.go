package hookrun

import (
	"context"
	"errors"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
)

// Left are the hooks whose objects are there and are those of a run of this owner,
// each ID once, sorted.
func (r Runner) Left(ctx context.Context, all hooks.Hooks) ([]hooks.Hook, error) {
	var out []hooks.Hook
	var errs []error
	asked := map[object.ID]bool{}
	for _, hook := range all {
		if asked[hook.ID] {
			continue
		}
		asked[hook.ID] = true
		live, err := find(ctx, r.Applier.Cluster, hook)
		if err != nil {
			errs = append(errs, err)
		}
		if live != nil && r.Made(live) {
			out = append(out, hook)
		}
	}
	slices.SortFunc(out, func(a, b hooks.Hook) int { return object.Compare(a.ID, b.ID) })
	return out, errors.Join(errs...)
}

// RemoveLeft deletes what hooks have left behind, when the owner itself is deleted. The
// transitions are told as those of an event. CustomResourceDefinitions stay, and are
// given back.
func (r Runner) RemoveLeft(ctx context.Context, event hooks.Event, all hooks.Hooks) (results []apply.Result, stay []hooks.Hook, err error) {
	left, err := r.Left(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	run := &hookRun{Runner: r, event: event}
	var errs []error
	for _, hook := range left {
		if hook.Stays() {
			stay = append(stay, hook)
			continue
		}
		errs = append(errs, run.remove(ctx, hook))
	}
	return run.results, stay, errors.Join(errs...)
}
