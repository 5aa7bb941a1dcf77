package hooks

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply/event"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Argo CD runs hooks also with the resources of a wave, and after a sync that failed. Its
// policies delete nothing before the sync ends: HookSucceeded applies to all hooks of a
// successful sync, HookFailed to all hooks of a failed one, whether they succeeded or not.

// within runs the hooks that the plan has in a wave, as apply.Hooks.Within. Several waves
// may be open at once.
func (a *Around) within(ctx context.Context, planned []ordering.PlannedHook, emit func(event.Event)) ([]event.Result, error) {
	var list authorhook.Hooks
	for _, hook := range a.Hooks.Of(authorhook.Sync) {
		for _, p := range planned {
			if hook.Planned == p.ID {
				hook.Weight, hook.Events = 0, []authorhook.Event{authorhook.Sync} // they run at once
				list = append(list, hook)
			}
		}
	}
	r := a.runner()
	r.Events = emit
	return r.Run(ctx, authorhook.Sync, list)
}

// succeeded deletes the hooks with the policy HookSucceeded at the end of a sync.
func (a *Around) succeeded(ctx context.Context) error {
	if !a.Hooks.AreArgo() {
		return nil
	}
	return a.removeWith(ctx, authorhook.OnSuccess)
}

// Fail runs the hooks of a sync that failed, and deletes hooks with the policy HookFailed
// before and after it. An interrupt, and the loss of the lock, fail no sync.
func (a *Around) Fail(ctx context.Context, cause error) error {
	if !a.Hooks.AreArgo() || a.operation == "" || cause == nil || ctx.Err() != nil || errors.Is(cause, kube.ErrFenced) {
		return nil
	}
	before := a.removeWith(ctx, authorhook.OnFailure)
	results, err := a.runner().Run(ctx, authorhook.SyncFail, a.Hooks)
	a.results = append(a.results, results...)
	return errors.Join(before, err, a.removeWith(ctx, authorhook.OnFailure))
}

// removeWith deletes the objects of the hooks that have a policy, phase by phase.
func (a *Around) removeWith(ctx context.Context, policy authorhook.Policy) error {
	run, seen := &hookRun{Runner: a.runner()}, map[object.ID]bool{}
	var errs []error
	for _, event := range authorhook.OfSync() {
		run.event = event
		for _, hook := range a.Hooks.Of(event) {
			if hook.HasPolicy(policy) && !seen[hook.ID] {
				seen[hook.ID] = true
				errs = append(errs, run.remove(ctx, hook))
			}
		}
	}
	a.results = append(a.results, run.results...)
	return errors.Join(errs...)
}
