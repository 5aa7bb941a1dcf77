package state

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/lease"
)

// goBack undoes what an attempt changed: restore applies the revision that was deployed
// before it, and remove deletes what it created where there is none.
func (r Run) goBack(ctx context.Context, a attempt, remove func() (apply.Summary, error), restore func(before *Revision) (apply.Summary, error)) *UndoneError {
	out := &UndoneError{Failure: a.failure, Parent: r.Parent}
	before, err := r.history().DeployedBefore(ctx, a.revision)
	switch {
	case err != nil:
		out.Err = err
	case before == nil:
		out.Summary, out.Err = remove()
		out.Left = a.left(nil)
	default:
		out.Revision, out.Left = before.Number, a.left(before)
		out.Summary, out.Err = restore(before)
	}
	out.Err = errors.Join(lease.OrLost(ctx, out.Err), r.unlabelAdopted(ctx, a, before))
	return out
}
