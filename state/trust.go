package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// Trust makes the parent of a set vouch for all revisions of its history, and list all members
// that none of them contains. It is for a set whose revisions an older version of ordapply
// stored, or whose parent or revisions were lost.
type Trust struct {
	SetRef
	// Confirm is called before anything is written; required. Its error ends the operation.
	Confirm func(Untrusted) error
}

// Untrusted are the parts of a set that its parent does not vouch for.
type Untrusted struct {
	Revisions []*history.Revision // oldest first
	Members   []object.ID         // that no revision contains, sorted
}

// Do returns the parts that the parent newly vouches for. Its errors are Confirm's, the
// lock's, and one when there is no such set.
func (t Trust) Do(ctx context.Context) (Untrusted, error) {
	t.SetRef = t.SetRef.withDefaults()
	if _, err := t.openKnown(ctx); err != nil {
		return Untrusted{}, err // before the lock, which is a write too
	}
	held, release, err := t.acquire(ctx)
	if err != nil {
		return Untrusted{}, err
	}
	defer release()
	accepted, err := t.trust(held)
	return accepted, lease.OrLost(held, err)
}

// trust does the part that requires the lock.
func (t Trust) trust(ctx context.Context) (Untrusted, error) {
	set, err := t.openKnown(ctx)
	if err == nil {
		err = set.CheckRecordsNamespace(t.Namespace)
	}
	if err != nil {
		return Untrusted{}, err
	}
	members, err := set.Members(ctx)
	if err != nil {
		return Untrusted{}, err
	}
	found, next, err := t.untrusted(activity.For(ctx, "for the history"), set, members)
	if err != nil || len(found.Revisions)+len(found.Members) == 0 {
		return Untrusted{}, err
	}
	if err := t.Confirm(found); err != nil {
		return Untrusted{}, err
	}
	if err := set.Accept(found.Members); err != nil {
		return Untrusted{}, err
	}
	number := 0
	for n := range next {
		number = max(number, n)
	}
	return found, set.Vouch(ctx, number, next, slices.Collect(maps.Keys(members.Live)))
}

// untrusted returns the parts without a voucher, and the vouchers of the parent once they
// are accepted.
func (t Trust) untrusted(ctx context.Context, set *set.Set, members set.Members) (Untrusted, history.Vouchers, error) {
	records := t.history(set)
	revisions, next, err := records.Untrusted(ctx)
	if err != nil {
		return Untrusted{}, nil, err
	}
	out := Untrusted{Revisions: revisions}
	records.Vouchers = nil // they are accepted together
	past, err := readPast(ctx, records, members.Live)
	for _, id := range slices.SortedFunc(maps.Keys(past.missing), object.Compare) {
		if !set.IsFormer(id) {
			out.Members = append(out.Members, id)
		}
	}
	return out, next, err
}

func (t Trust) openKnown(ctx context.Context) (*set.Set, error) {
	set, err := t.open(ctx, false)
	if err == nil {
		err = set.Recover(ctx, t.history(set))
	}
	if err == nil && !set.Known() {
		set.FindLost(ctx)
	}
	if err == nil && !set.Known() {
		err = fmt.Errorf("apply set %s not found: nothing to trust", t.Parent)
	}
	return set, err
}
