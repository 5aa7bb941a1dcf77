package state

import (
	"context"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/apply"
	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// operation returns the operation of the run on a set with these revisions, and with
// these objects of its stream: a rollback if it goes back to a revision, an upgrade if
// one was ever deployed or if the run before was one, and an install only if nothing of
// the stream exists but objects of failed installs of the set.
func (r Run) operation(ctx context.Context, set *set.Set, entries []history.Entry, existing []applyevent.Existing) (hook.Operation, error) {
	if r.Metadata.Revision.Rollback > 0 {
		return hook.Rollback, nil
	}
	for _, e := range entries {
		if e.Status == history.Deployed || e.Status == history.Superseded {
			return hook.Upgrade, nil
		}
	}
	if n := len(entries); n > 0 {
		if before := entries[n-1].Record().Operation; before != "" && before != hook.Install {
			return hook.Upgrade, nil
		}
	}
	found, err := r.foreign(ctx, existing, entries)
	if err == nil && found == (object.ID{}) {
		found, err = r.member(ctx, set, entries)
	}
	switch {
	case err != nil:
		return "", err
	case found == (object.ID{}):
		return hook.Install, nil
	case len(entries) == 0 && r.hooks().DependOnOperation():
		r.OnNote("this is the first revision of the apply set, but " + found.String() + " already exists: the upgrade hooks run instead of the install hooks")
	}
	return hook.Upgrade, nil
}

// member returns a live member of the set that no failed install of it created: the set was
// installed, and its revisions were lost, or another tool managed it. Zero when there is none,
// or no hooks depend on it.
func (r Run) member(ctx context.Context, set *set.Set, entries []history.Entry) (object.ID, error) {
	if !set.Known() || !r.hooks().DependOnOperation() {
		return object.ID{}, nil
	}
	members, err := set.Members(ctx)
	if err != nil {
		return object.ID{}, err
	}
	created := createdBy(entries)
	for _, id := range slices.SortedFunc(maps.Keys(members.Live), object.Compare) {
		if !isCreated(created, id) && !id.IsNamespace() && !id.IsCRD() {
			return id, nil
		}
	}
	return object.ID{}, nil
}

// foreign returns a resource of the stream that exists, and that no run of the set created;
// zero when there is none. Namespaces and CustomResourceDefinitions do not count: others
// create them too.
func (r Run) foreign(ctx context.Context, existing []applyevent.Existing, entries []history.Entry) (object.ID, error) {
	adopted, created := history.Undeployed(entries), createdBy(entries)
	byID := map[object.ID]applyevent.Existing{}
	for _, e := range existing {
		byID[e.ID] = e
	}
	var unread []ordering.Resource
	for _, resource := range hooks.Distinguishing(r.Stream.Resources) {
		e := byID[resource.ID]
		_, wasAdopted := adopted.Of(e.ID)
		switch {
		case !e.Known:
			unread = append(unread, resource)
		case e.Absent:
		case !e.Member, wasAdopted, !isCreated(created, e.ID) && !e.WrittenBySet:
			return e.ID, nil
		}
	}
	if !r.hooks().DependOnOperation() || len(unread) == 0 {
		return object.ID{}, nil
	}
	operation, found, err := hooks.OperationOf(ctx, r.Cluster, &apply.Stream{Resources: unread, Objects: r.Stream.Objects})
	if err != nil || operation == hook.Install {
		return object.ID{}, err
	}
	return found, nil
}

// createdBy returns objects that the runs of some revisions created, or planned to.
func createdBy(entries []history.Entry) map[object.ID]history.Created {
	out := map[object.ID]history.Created{}
	for _, e := range entries {
		for _, c := range e.Record().Created {
			out[c.ID] = c
		}
	}
	return out
}

func isCreated(by map[object.ID]history.Created, id object.ID) bool {
	_, created := by[id]
	return created
}

// existing returns the state of the stream's objects, for a preview.
func (r Run) existing(ctx context.Context) ([]applyevent.Existing, error) {
	found, err := apply.Find(ctx, r.Cluster, r.Stream.Resources)
	var out []applyevent.Existing
	for _, resource := range r.Stream.Resources {
		e := applyevent.Existing{ID: resource.ID, Known: err == nil}
		if live := found[resource.ID]; live != nil {
			e = write.ExistingOf(live, r.Applier.Membership.Set)
		} else {
			e.Absent = true
		}
		out = append(out, e)
	}
	return slices.Clip(out), err
}
