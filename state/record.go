package state

import (
	"context"
	"errors"
	"time"

	"github.com/ordapply/ordapply/internal/activity"
)

// Memory says what the history keeps of a run, beside its plan and its stream.
type Memory struct {
	// Revision holds the options and what else is not the run's.
	Revision Revision
	// Limit is how many revisions are kept, default DefaultLimit.
	Limit int
}

// record is the revision of a run that goes on.
type record struct {
	history  History
	revision Revision
	number   int    // 0: the run has not begun
	stored   *stock // of the history, as it was read under the lock; nil: not yet
}

// record is that of a run on a set.
func (r Run) record(set *Set) *record {
	revision := r.Memory.Revision
	revision.Plan, revision.Resources, revision.Hooks = r.Plan, r.Stream.Resources, r.Stream.Hooks
	return &record{
		history:  History{Cluster: r.Cluster, Parent: set.Parent, Namespace: r.Namespace, Limit: r.Memory.Limit, kept: set.keeps(r.members())},
		revision: revision,
		stored:   set.past,
	}
}

// begin stores the revision, before the first write of the run.
func (c *record) begin(ctx context.Context) (err error) {
	ctx = activity.For(ctx, "for the history")
	if c.revision.Cluster, err = ClusterID(ctx, c.history.Cluster); err != nil {
		return err
	}
	if c.stored != nil {
		c.number, err = c.history.begin(ctx, *c.stored, c.revision)
	} else {
		c.number, err = c.history.Begin(ctx, c.revision)
	}
	return err
}

// end records how the run ended, with which error. One that was interrupted is
// given some time for it; one that lost its lock writes nothing more, and the next
// run clears up.
func (c *record) end(ctx context.Context, ended error) error {
	if c.number == 0 || errors.Is(context.Cause(ctx), ErrLockLost) {
		return nil
	}
	limit := 30 * time.Second
	if ctx.Err() != nil {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	status := Deployed
	if ended != nil {
		status = Failed
	}
	return c.history.End(ctx, c.number, status)
}
