package state

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	if operation == hooks.Upgrade && r.OnNote != nil {
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
	r.OnNote = nil
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

// hookedDeletion runs the hooks of a set that is deleted.
type hookedDeletion struct {
	runner  hookrun.Runner
	hooks   hooks.Hooks // of the revision that was deployed last
	all     hooks.Hooks // of all revisions
	results []apply.Result
}

// hooked finds the hooks of a set: those that run are of the revision that was deployed
// last, or of the newest where none ever was.
func (d SetDeletion) hooked(ctx context.Context, set *Set) (*hookedDeletion, error) {
	out := &hookedDeletion{}
	if d.Hooks == nil {
		return out, nil
	}
	entries, err := d.history().List(ctx)
	if err != nil {
		return nil, err
	}
	out.runner = hookrun.Runner{Applier: *d.Hooks, Owner: set.Parent.SetID(), Events: d.Hooks.Events}
	out.runner.Applier.Manager = set.Parent.Manager("ordapply")
	ruling := lastDeployed(entries)
	if ruling == nil && len(entries) > 0 {
		ruling = &entries[len(entries)-1]
	}
	for _, e := range slices.Backward(entries) {
		if e.hooks == 0 {
			continue
		}
		r, err := d.history().read(ctx, e)
		if err != nil {
			return nil, err
		}
		out.all = append(out.all, r.hooks()...)
		if e.Number == ruling.Number {
			out.hooks = r.hooks()
		}
	}
	return out, nil
}

// remarks lists the hooks that run, for the plan of the deletion.
func (d *hookedDeletion) remarks() []string {
	var lines []string
	for _, event := range []hooks.Event{hooks.PreDelete, hooks.PostDelete} {
		for _, hook := range d.hooks.Of(event) {
			lines = append(lines, fmt.Sprintf("%s hook %s, weight %d", event, hook.ID, hook.Weight))
		}
	}
	return lines
}

// made reports whether one of the set's hooks left an object, which is then deleted
// after the members. A copy of it under another name does not count.
func (d *hookedDeletion) made(found *unstructured.Unstructured) bool {
	id := apply.Meta(found).ID
	return d.runner.IsOwn(found) && slices.ContainsFunc(d.all, func(hook hooks.Hook) bool { return hook.ID == id })
}

// before runs the hooks before the members are deleted.
func (d *hookedDeletion) before(ctx context.Context) error {
	results, err := d.runner.Run(ctx, hooks.PreDelete, d.hooks)
	d.results = append(d.results, results...)
	return err
}

// after runs the hooks after the members are gone, and deletes what hooks left. Those
// that lived in a Namespace which was a member cannot run any more.
func (d *hookedDeletion) after(ctx context.Context, members apply.Summary) error {
	gone := map[string]bool{}
	for _, r := range members.Results {
		if r.ID.GroupKind() == "Namespace" && r.State == apply.Deleted {
			gone[r.ID.Name] = true
		}
	}
	left := func(hook hooks.Hook) bool { return gone[hook.Namespace] && hook.Namespace != "" }
	for _, hook := range d.hooks.Of(hooks.PostDelete) {
		if left(hook) && d.runner.Events != nil {
			d.runner.Events(apply.Event{Time: time.Now(), Op: apply.OpApply, ID: hook.ID, Hook: string(hooks.PostDelete), State: apply.Skipped, Detail: "its Namespace was a member of the set and is deleted"})
		}
	}
	results, err := d.runner.Run(ctx, hooks.PostDelete, slices.DeleteFunc(slices.Clone(d.hooks), left))
	d.results = append(d.results, results...)
	if err != nil {
		return err
	}
	results, err = d.runner.RemoveLeftovers(ctx, slices.DeleteFunc(slices.Clone(d.all), left))
	d.results = append(d.results, results...)
	return err
}

// summed returns the summary of the deletion with the results of the hooks.
func (d *hookedDeletion) summed(s apply.Summary) apply.Summary {
	s.Hooks = append(slices.Clone(s.Hooks), d.results...)
	return s
}

// LeftHook is an object that a hook of a set's revisions made and left behind.
type LeftHook struct {
	ID    object.ID
	Stays bool // also when the set is deleted
}

// LeftHooks returns the objects that hooks of the set's revisions made and left behind.
func (h History) LeftHooks(ctx context.Context) ([]LeftHook, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return nil, err
	}
	var all hooks.Hooks
	for _, e := range slices.Backward(entries) {
		if e.hooks == 0 {
			continue
		}
		r, err := h.read(ctx, e)
		if err != nil {
			return nil, err
		}
		all = append(all, r.hooks()...)
	}
	runner := hookrun.Runner{Applier: apply.Applier{Cluster: h.Cluster}, Owner: h.Parent.SetID()}
	left, err := runner.Leftovers(ctx, all)
	return mapSlice(left, func(hook hooks.Hook) LeftHook { return LeftHook{hook.ID, hook.IsKept()} }), err
}
