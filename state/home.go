package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// The home of a set is the namespace of its lock and its history. Under a cluster-scoped
// parent it is also the namespace of resources without one, whichever -n the first run
// had; and it can be deleted while the parent lives on.

// homeError reports that the home of a set does not exist, or is terminating.
type homeError struct {
	set         object.ID
	home        string
	terminating bool
	recorded    bool // the parent names it, so that it once existed
}

// Error names the remedy.
func (e *homeError) Error() string {
	switch {
	case e.terminating && e.recorded:
		return fmt.Sprintf("namespace %q, the home of apply set %s with its lock and its history, is being deleted: wait until it is gone, then recreate it, or name a new home with -n", e.home, e.set)
	case e.terminating:
		return fmt.Sprintf("namespace %q, which holds apply set %s, is being deleted: wait until it is gone, then recreate it or add it to the stream", e.home, e.set)
	case e.recorded:
		return fmt.Sprintf("namespace %q, the home of apply set %s with its lock and its history, does not exist any more: recreate it, or name a new home with -n", e.home, e.set)
	}
	return fmt.Sprintf("namespace %q, which is to hold apply set %s, does not exist and is not in the stream: create it with --create-namespace, add it to the stream, or name another with -n", e.home, e.set)
}

// mayReplaceHome reports whether a set whose home is gone may get NewHome instead.
func (s SetRef) mayReplaceHome() bool {
	return s.Parent.Namespace == "" && s.NewHome != "" && s.NewHome != s.Namespace
}

// replaceHome makes NewHome the home of a set whose home is gone, and returns the home
// that the set has then. It waits until a run that had the lock in the old home has
// ended: that run cannot renew its Lease.
func (s SetRef) replaceHome(ctx context.Context, takeOver bool) (string, error) {
	old := s.Namespace
	s.Namespace = s.NewHome
	held, release, err := s.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	set, err := s.open(held, takeOver)
	if err != nil {
		return "", err
	}
	home, err := set.ReplaceRecordsNamespace(held, old, s.NewHome)
	if err != nil || home != s.NewHome {
		return home, err
	}
	if err := lease.AwaitExpiry(held); err != nil {
		return "", err
	}
	return home, acceptMembers(held, set)
}

// acceptMembers lists the members of a set on its parent, as they are: its records are gone
// with its home, and naming a new home accepts that.
func acceptMembers(ctx context.Context, set *set.Set) error {
	if set.IsOtherTool() {
		return nil
	}
	members, err := set.Members(ctx)
	if err != nil {
		return err
	}
	return set.Remember(ctx, slices.Collect(maps.Keys(members.Live)))
}

// checkMoves returns an error when the run would move members of a set with a
// cluster-scoped parent to another namespace only because of -n, or of the home: live
// members that the stream does not contain where they are, and contains in the
// namespace of resources without one. Members in the home count as moved, whatever
// their names are.
func (r Run) checkMoves(ctx context.Context, set *set.Set) error {
	if r.Parent.Namespace != "" || len(r.Stream.Defaulted) == 0 || !set.Known() || r.coversNamespaces(set) {
		return nil
	}
	members, err := set.Members(ctx)
	if err != nil {
		return fmt.Errorf("find members in other namespaces: %w", err)
	}
	target := ""
	names := map[object.ID]bool{}
	for id := range r.Stream.Defaulted {
		target, id.Namespace = id.Namespace, ""
		names[id] = true
	}
	var moved []object.ID
	for id := range r.pruneCandidates(members) {
		name := id
		name.Namespace = ""
		if id.Namespace != "" && id.Namespace != target && (names[name] || id.Namespace == r.Namespace) {
			moved = append(moved, id)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	slices.SortFunc(moved, object.Compare)
	return &movedError{r.Parent, target, moved}
}

// coversNamespaces reports whether the stream has resources in all namespaces of the
// set, so that none of its members can have been meant for another namespace.
func (r Run) coversNamespaces(set *set.Set) bool {
	used := map[string]bool{}
	for id := range r.Stream.Objects {
		used[id.Namespace] = true
	}
	return !slices.ContainsFunc(set.Namespaces(), func(n string) bool { return !used[n] })
}

// movedError reports that a run would move members to another namespace.
type movedError struct {
	set    object.ID
	target string
	moved  []object.ID
}

// Error names the members and the remedy.
func (e *movedError) Error() string {
	return fmt.Sprintf("apply set %s has %s, and resources without metadata.namespace would go to namespace %q: nothing was changed. Run this with -n %s; to move the members, write metadata.namespace into the manifests",
		e.set, applyevent.JoinNames(e.moved), e.target, e.moved[0].Namespace)
}
