package state

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// hooks returns the hooks of the stream. Hooks that are left out were reported when the
// stream was read.
func (r Run) hooks() hook.Hooks {
	all, _ := hook.Read(r.Stream.Hooks, r.Plan.OrderSource)
	return all
}

// around runs the stream's hooks around an attempt. They are recorded in the history and are
// no members.
func (r Run) around(tried *attempt) *hooks.Around {
	return &hooks.Around{
		Runner: r.hookRunner(tried.set), Hooks: r.hooks(), Stream: r.Stream, Plan: r.Plan,
		Operation: func(context.Context) (hook.Operation, error) { return tried.operation, nil },
	}
}

// previewHooks adds to a preview the hooks that would run, and the errors with which they
// would fail because of objects that exist.
func (r Run) previewHooks(ctx context.Context, set *set.Set, preview *preview.Preview) error {
	all := r.hooks()
	if !all.OfApply() {
		return nil
	}
	around := r.around(&attempt{set: set})
	around.Operation = func(ctx context.Context) (hook.Operation, error) {
		entries, err := r.listRevisions(ctx, set)
		if err != nil {
			return "", err
		}
		existing, err := r.existing(ctx)
		if err != nil {
			return "", err
		}
		r.OnNote = func(note string) { preview.Notes = append(preview.Notes, note) }
		return r.operation(ctx, set, entries, existing)
	}
	return around.AddTo(ctx, preview)
}

// hookRunner returns the runner of the stream's hooks for a set.
func (r Run) hookRunner(set *set.Set) hooks.Runner {
	return hooks.Runner{
		Applier: r.Applier, Owner: set.Parent.SetID(), Events: r.Applier.Events,
		Adopt:          r.TakeOver || r.Applier.Membership.Adopt == applyset.AdoptAny,
		ReplaceMembers: !r.TakeOver && r.Applier.Membership.Adopt == applyset.AdoptAny,
		KeepLeftovers:  r.Applier.Membership.Adopt == applyset.AdoptNever,
	}
}

// takenByHooks removes from gone, the prune candidates, the members that hooks before
// the run replace: they are no members any more when the run prunes.
func (r Run) takenByHooks(ctx context.Context, set *set.Set, gone map[object.ID]*unstructured.Unstructured, entries []history.Entry) error {
	all := r.hooks()
	if len(gone) == 0 || !all.OfApply() {
		return nil
	}
	existing, err := r.existing(ctx)
	if err != nil {
		return err
	}
	r.OnNote = func(string) {}
	operation, err := r.operation(ctx, set, entries, existing)
	for _, hook := range slices.Concat(all.Of(all.Pre(operation)), all.Of(hook.Sync)) {
		delete(gone, hook.ID)
	}
	return err
}

// uninstalled deletes objects that a failed first run created, and releases adopted ones.
// Where nothing of the stream existed before, this is the end of an install: it happens
// between the hooks of a deletion, as in Helm, and includes leftovers of hooks. When a
// hook before it fails, nothing is deleted.
func (r Run) uninstalled(ctx context.Context, tried attempt) (event.Summary, error) {
	if tried.operation != hook.Install {
		return r.removeAttempt(ctx, tried)
	}
	runner, all := r.hookRunner(tried.set), r.hooks()
	ran, err := runner.Run(ctx, hook.PreDelete, all)
	if err != nil {
		return event.Summary{Hooks: ran}, err
	}
	r.undone.alsoDeleted = func(found *unstructured.Unstructured) bool {
		return runner.IsOwn(found) && slices.ContainsFunc(all, func(hook hook.Hook) bool { return hook.ID == kube.Meta(found).ID })
	}
	summary, err := r.removeAttempt(ctx, tried)
	for _, last := range []func() ([]event.Result, error){
		func() ([]event.Result, error) { return runner.Run(ctx, hook.PostDelete, all) },
		func() ([]event.Result, error) { return runner.RemoveLeftovers(ctx, all, nil) },
	} {
		if err == nil {
			var results []event.Result
			results, err = last()
			ran = append(ran, results...)
		}
	}
	summary.Hooks = append(summary.Hooks, ran...)
	return summary, err
}

// removeAttempt deletes objects that an attempt created, and releases adopted
// ones.
func (r Run) removeAttempt(ctx context.Context, tried attempt) (event.Summary, error) {
	summary, err := r.removeCreated(ctx, tried.set, tried.created(nil))
	return summary, errors.Join(err, r.releaseAdopted(ctx, tried.set, tried.adopted(nil)))
}
