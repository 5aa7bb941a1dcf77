package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/set"
)

// checkParentNotInStream rejects a stream that contains the set's parent.
func (r Run) checkParentNotInStream() error {
	for _, hook := range r.Stream.Hooks {
		if hook.ID == r.Parent {
			return fmt.Errorf("%s is the parent of the apply set and cannot be a hook of it: give the set another name", r.Parent)
		}
	}
	if _, itself := r.Stream.Objects[r.Parent]; itself {
		return fmt.Errorf("%s is the parent of the apply set and cannot be a member of it: give the set another name", r.Parent)
	}
	return nil
}

// withDefaults fills in the fields that follow from the set.
func (r Run) withDefaults() Run {
	set := applyset.Parent{ID: r.Parent}
	base := cmp.Or(r.Applier.Manager, "ordapply")
	r.Applier.Manager = set.Manager(base)
	r.Applier.Membership.Set = set.SetID()
	r.Applier.Membership.PreviousManagers = append(r.Applier.Membership.PreviousManagers, base)
	if r.TakeOver {
		r.Applier.Membership.Adopt = applyset.AdoptAny
		r.Applier.Membership.PreviousManagers = append(r.Applier.Membership.PreviousManagers, "kubectl")
	}
	if r.Precondition == nil {
		r.Precondition = func(context.Context) error { return nil }
	}
	r.Applier.GoingBack = r.Metadata.Revision.Rollback > 0
	r.Applier.Cluster, r.Remover.Cluster = cmp.Or(r.Applier.Cluster, r.Cluster), cmp.Or(r.Remover.Cluster, r.Cluster)
	r.SetRef, r.Callbacks = r.SetRef.withDefaults(), r.Callbacks.withDefaults()
	return r
}

func (c Callbacks) withDefaults() Callbacks {
	ignorePlan := func(*ordering.Plan) {}
	if c.OnNote == nil {
		c.OnNote = func(string) {}
	}
	if c.OnExisting == nil {
		c.OnExisting = func([]event.Existing, []string) error { return nil }
	}
	if c.OnLastRun == nil {
		c.OnLastRun = func(track.RunTimes) {}
	}
	if c.OnRevision == nil {
		c.OnRevision = func(int) {}
	}
	if c.OnNotUndone == nil {
		c.OnNotUndone = func(int, string) {}
	}
	if c.OnPruning == nil {
		c.OnPruning = ignorePlan
	}
	if c.OnRestoring == nil {
		c.OnRestoring = func(int, *ordering.Plan) {}
	}
	if c.OnRemoving == nil {
		c.OnRemoving = ignorePlan
	}
	return c
}

// openRecovered reads the set and recovers it when its parent was deleted or edited by hand,
// with its history or without. It returns an error when the run would move members.
// A dry run may lack the permission to read the history.
func (r Run) openRecovered(ctx context.Context, mayLackHistory bool) (*set.Set, error) {
	set, finish, err := r.startRecovery(ctx, mayLackHistory)
	if err != nil {
		return nil, err
	}
	finish()
	return set, r.checkMoves(ctx, set)
}

// startRecovery is openRecovered, but does not wait for the search for the members of a set without a
// parent and a history: until finish has, the set has only its name, and is new.
func (r Run) startRecovery(ctx context.Context, mayLackHistory bool) (set *set.Set, finish func(), err error) {
	records := r.records().ReadAhead(activity.For(ctx, "for the history"))
	if set, err = r.open(ctx, r.TakeOver); err != nil {
		return nil, nil, err
	}
	records.Vouchers = set.Vouchers()
	if err = set.Recover(ctx, records); mayLackHistory && apierrors.IsForbidden(err) {
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	if set.Known() {
		return set, func() {}, nil
	}
	return set, sync.OnceFunc(set.StartFindLost(ctx, r.Applier.Sent...)), nil
}

// members returns the IDs of the stream's resources. A kind that is not served yet may turn
// out to be namespaced: its objects without a namespace are then in that of the run.
func (r Run) members() []object.ID {
	ids := slices.Collect(maps.Keys(r.Stream.Objects))
	for id, manifest := range r.Stream.Objects {
		kind, served := r.Cluster.Kind(manifest.GroupVersionKind())
		if id.Namespace == "" && r.Applier.Namespace != "" && (!served || kind.Namespaced) {
			id.Namespace = r.Applier.Namespace
			ids = append(ids, id)
		}
	}
	return ids
}

// contains reports whether the stream contains a live member: under its ID, or without a
// namespace because that was decided during the run.
func (r Run) contains(id object.ID) bool {
	bare := id
	bare.Namespace = ""
	return r.Stream.Objects[id] != nil || id.Namespace == r.Applier.Namespace && r.Stream.Objects[bare] != nil
}
