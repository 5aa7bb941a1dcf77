package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
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
		r.Applier.Membership.Adopt = apply.AdoptAny
		r.Applier.Membership.PreviousManagers = append(r.Applier.Membership.PreviousManagers, "kubectl")
	}
	r.SetRef, r.Callbacks = r.SetRef.withDefaults(), r.Callbacks.withDefaults()
	return r
}

func (c Callbacks) withDefaults() Callbacks {
	ignorePlan := func(*ordering.Plan) {}
	if c.OnNote == nil {
		c.OnNote = func(string) {}
	}
	if c.OnLastRun == nil {
		c.OnLastRun = func(RunTimes) {}
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

// openRecovered reads the set and recovers it when its parent was deleted or edited by hand.
// A dry run may lack the permission to read the history.
func (r Run) openRecovered(ctx context.Context, mayLackHistory bool) (*Set, error) {
	set, err := r.open(ctx, r.TakeOver)
	if err != nil {
		return nil, err
	}
	if err = set.Recover(ctx, r.history()); mayLackHistory && apierrors.IsForbidden(err) {
		err = nil
	}
	return set, err
}

// members returns the IDs of the stream's resources.
func (r Run) members() []object.ID { return slices.Collect(maps.Keys(r.Stream.Objects)) }
