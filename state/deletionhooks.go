package state

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// hookedDeletion runs the hooks of a set that is deleted.
type hookedDeletion struct {
	runner  hooks.Runner
	hooks   hook.Hooks // of the revision that was deployed last; none where nothing is uninstalled
	all     hook.Hooks // of all revisions
	results []event.Result
	entries []history.Entry // the revisions, oldest first
	begun   bool            // an earlier deletion of the set ran the hooks before it
	records history.History
}

// hooked finds the hooks of a set: the revision that was deployed last decides which
// run, or the newest where none ever was.
func (d SetDeletion) hooked(ctx context.Context, set *set.Set) (*hookedDeletion, error) {
	out := &hookedDeletion{records: d.history(set)}
	entries, err := out.records.List(ctx)
	if err != nil {
		return nil, err
	}
	out.entries = history.Current(entries)
	if d.Hooks == nil {
		return out, nil
	}
	out.runner = hooks.Runner{Applier: *d.Hooks, Owner: set.Parent.SetID(), Events: d.Hooks.Events}
	out.runner.Applier.Manager = set.Parent.Manager("ordapply")
	ruling := history.LastDeployed(out.entries)
	if ruling == nil && len(out.entries) > 0 {
		ruling = &out.entries[len(out.entries)-1]
	}
	if n := len(entries); n > 0 {
		out.begun = entries[n-1].Record().Deletion
	}
	needed := 0
	if ruling != nil {
		needed = ruling.Number
	}
	revisions, err := out.records.Hooks(ctx, entries, needed)
	for _, r := range revisions {
		out.all = append(out.all, r.Hooks...)
		if ruling != nil && r.Number == ruling.Number {
			out.hooks = r.Hooks
		}
	}
	if err != nil {
		return nil, err
	}
	return out, out.runner.CheckServed(ctx, out.all)
}

// remarks lists the hooks that run, for the plan of the deletion.
func (d *hookedDeletion) remarks() []string {
	var lines []string
	for _, event := range []hook.Event{hook.PreDelete, hook.PostDelete} {
		for _, hook := range d.hooks.Of(event) {
			lines = append(lines, fmt.Sprintf("%s hook %s, weight %d", event, hook.ID, hook.Weight))
		}
	}
	return lines
}

// made reports whether one of the set's hooks left an object, which is then deleted
// after the members.
func (d *hookedDeletion) made(found *unstructured.Unstructured) bool {
	return d.runner.WillRemove(d.all, found)
}

// uninstalls drops the hooks that run where no member is going to be deleted: the members
// moved to another set, were deleted without it, were only adopted by runs that failed, or
// are protected. A deletion that is resumed has begun.
func (d *hookedDeletion) uninstalls(members set.Members) {
	adopted, deletes := history.Undeployed(d.entries), d.begun
	for id, live := range members.Live {
		_, releases := adopted.Of(id)
		deletes = deletes || !releases && applyset.Protection(live, applyset.Delete) == ""
	}
	if !deletes {
		d.hooks = nil
	}
}

// before runs the hooks before the members are deleted.
func (d *hookedDeletion) before(ctx context.Context) error {
	if len(d.hooks.Of(hook.PreDelete))+len(d.hooks.Of(hook.PostDelete)) == 0 {
		return nil
	}
	if err := d.records.BeginDeletion(ctx); err != nil {
		return err
	}
	results, err := d.runner.Run(ctx, hook.PreDelete, d.hooks)
	d.results = append(d.results, results...)
	return err
}

// after runs the hooks after the members are gone, and deletes leftovers of hooks.
// In a Namespace that was a member, nothing is left, nor may the account be able to
// look.
func (d *hookedDeletion) after(ctx context.Context, members event.Summary) error {
	results, err := d.runner.Run(ctx, hook.PostDelete, d.hooks)
	d.results = append(d.results, results...)
	if err != nil {
		return err
	}
	left := hook.Hooks(slices.DeleteFunc(slices.Clone(d.all), func(hook hook.Hook) bool {
		return slices.ContainsFunc(members.Results, func(r event.Result) bool {
			return r.ID.IsNamespace() && r.ID.Name == hook.Namespace && r.State == event.Deleted
		})
	}))
	others, err := d.records.OfOtherSets(ctx, namespacesOf(left))
	if err != nil {
		return err
	}
	results, err = d.runner.RemoveLeftovers(ctx, left, others)
	d.results = append(d.results, results...)
	return err
}

// namespacesOf returns the namespaces of hooks, each once.
func namespacesOf(all hook.Hooks) []string {
	var out []string
	for _, hook := range all {
		if !slices.Contains(out, hook.Namespace) && hook.Namespace != "" {
			out = append(out, hook.Namespace)
		}
	}
	return out
}

// summed returns the summary of the deletion with the results of the hooks.
func (d *hookedDeletion) summed(s event.Summary) event.Summary {
	s.Hooks = append(slices.Clone(s.Hooks), d.results...)
	return s
}

// LeftHook is an object that a hook of a set's revisions made and left behind.
type LeftHook struct {
	ID      object.ID
	Remains bool // also when the set is deleted
}

// LeftHooks returns the objects that hooks of a set's revisions made and left behind.
func LeftHooks(ctx context.Context, cluster kube.Cluster, h history.History) ([]LeftHook, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return nil, err
	}
	revisions, err := h.Hooks(ctx, entries, 0)
	if err != nil {
		return nil, err
	}
	var all hook.Hooks
	for _, r := range revisions {
		all = append(all, r.Hooks...)
	}
	runner := hooks.Runner{Applier: apply.Applier{Cluster: cluster}, Owner: h.Parent.SetID()}
	left, err := runner.Leftovers(ctx, all)
	var out []LeftHook
	for _, hook := range left {
		out = append(out, LeftHook{hook.ID, hook.IsKept()})
	}
	return out, err
}
