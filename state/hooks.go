package state

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
)

// hooksOf returns the hooks of a stream. Those that Helm drops were reported when the
// stream was read.
func hooksOf(s *apply.Stream) hooks.Hooks {
	all, _ := hooks.Read(s.Hooks)
	return all
}

// around runs the stream's hooks around the apply to a set, which had these revisions
// before. They are recorded in the history and are no members.
func (r Run) around(set *Set, before *[]Entry) *hookrun.Around {
	return &hookrun.Around{
		Runner: hookrun.Runner{
			Applier: r.Applier, Owner: set.Parent.SetID(), Events: r.Applier.Events,
			Adopt: r.TakeOver || r.Applier.Membership.Adopt == apply.AdoptAny,
		},
		Hooks: hooksOf(r.Stream), Stream: r.Stream,
		Operation: func(ctx context.Context) (hooks.Operation, error) { return r.operation(ctx, *before) },
	}
}

// operation returns which operation the run is on a set with these revisions: a
// rollback if it goes back to one, else an upgrade if one was ever deployed, else an
// install, also after an install that failed. Only without any history the live
// objects of the stream decide.
func (r Run) operation(ctx context.Context, entries []Entry) (hooks.Operation, error) {
	if r.Metadata.Revision.Rollback > 0 {
		return hooks.Rollback, nil
	}
	deployed := slices.ContainsFunc(entries, func(e Entry) bool { return e.Status == Deployed || e.Status == Superseded })
	switch {
	case deployed:
		return hooks.Upgrade, nil
	case len(entries) > 0:
		return hooks.Install, nil
	}
	operation, found, err := hookrun.OperationOf(ctx, r.Cluster, r.Stream)
	if operation == hooks.Upgrade {
		r.OnNote("this is the first revision of the apply set, but " + found.String() + " already exists: the upgrade hooks run instead of the install hooks")
	}
	return operation, err
}

// takenByHooks removes from gone, what would be pruned, the members that hooks before
// the run replace: they are no members any more when the run prunes.
func (r Run) takenByHooks(ctx context.Context, gone map[object.ID]*unstructured.Unstructured) error {
	all := hooksOf(r.Stream)
	if len(gone) == 0 || !all.OfApply() {
		return nil
	}
	entries, err := r.history().List(ctx)
	if err != nil {
		return err
	}
	r.OnNote = func(string) {}
	operation, err := r.operation(ctx, entries)
	for _, hook := range all.Of(operation.Pre()) {
		delete(gone, hook.ID)
	}
	return err
}

// uninstalled deletes what a failed first run created, between the hooks of a deletion,
// as Helm does. When a hook before it fails, nothing is deleted.
func (r Run) uninstalled(ctx context.Context, tried attempt) (apply.Summary, error) {
	runner, all := r.around(tried.set, nil).Runner, hooksOf(r.Stream)
	ran, err := runner.Run(ctx, hooks.PreDelete, all)
	if err != nil {
		return apply.Summary{Hooks: ran}, err
	}
	summary, err := r.removeCreated(ctx, tried.set, tried.created(nil))
	if err == nil {
		var after []apply.Result
		after, err = runner.Run(ctx, hooks.PostDelete, all)
		ran = append(ran, after...)
	}
	summary.Hooks = append(summary.Hooks, ran...)
	return summary, err
}
