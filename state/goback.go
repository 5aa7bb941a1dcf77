package state

import (
	"context"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
)

// goBack undoes the changes of an attempt: restore applies the revision that was
// deployed before it; where there is none, remove deletes created objects. Adopted ones
// are released in either case.
func (r Run) goBack(ctx context.Context, a attempt, remove func() (event.Summary, error), restore func(before *history.Revision) (event.Summary, error)) *UndoneError {
	out := &UndoneError{Failure: a.failure, Parent: r.Parent}
	before, err := r.history(a.set).DeployedBefore(ctx, a.revision)
	switch {
	case err != nil:
		out.Err = err
	case before == nil:
		out.Left = a.left(nil)
		out.Summary, out.Err = remove()
	default:
		out.Revision, out.Left = before.Number, a.left(before)
		out.Summary, out.Err = restore(before)
	}
	out.Err = lease.OrLost(ctx, out.Err)
	return out
}
