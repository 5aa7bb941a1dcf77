package state

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/history"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/progress"
)

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
	ruling := history.LastDeployed(entries)
	if ruling == nil && len(entries) > 0 {
		ruling = &entries[len(entries)-1]
	}
	revisions, err := d.history().Hooks(ctx, entries)
	for _, r := range revisions {
		out.all = append(out.all, r.Hooks...)
		if r.Number == ruling.Number {
			out.hooks = r.Hooks
		}
	}
	return out, err
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
			d.runner.Events(apply.Event{Time: time.Now(), Op: apply.OpApply, ID: hook.ID, Hook: &progress.Hook{Event: string(hooks.PostDelete)}, State: apply.Skipped, Detail: "its Namespace was a member of the set and is deleted"})
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
	ID      object.ID
	Remains bool // also when the set is deleted
}

// LeftHooks returns the objects that hooks of a set's revisions made and left behind.
func LeftHooks(ctx context.Context, cluster kube.Cluster, h History) ([]LeftHook, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return nil, err
	}
	revisions, err := h.Hooks(ctx, entries)
	if err != nil {
		return nil, err
	}
	var all hooks.Hooks
	for _, r := range revisions {
		all = append(all, r.Hooks...)
	}
	runner := hookrun.Runner{Applier: apply.Applier{Cluster: cluster}, Owner: h.Parent.SetID()}
	left, err := runner.Leftovers(ctx, all)
	var out []LeftHook
	for _, hook := range left {
		out = append(out, LeftHook{hook.ID, hook.IsKept()})
	}
	return out, err
}
