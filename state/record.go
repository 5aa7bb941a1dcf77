package state

import (
	"context"
	"errors"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/history"
	"github.com/ordapply/ordapply/internal/lease"
	"github.com/ordapply/ordapply/internal/track"
	"github.com/ordapply/ordapply/kube"
)

// RevisionMetadata is what the history records of a run, in addition to its plan and
// its stream.
type RevisionMetadata struct {
	// Revision holds the options and everything else that is not in Run.
	Revision Revision
	// Limit is the number of revisions to keep, default DefaultLimit.
	Limit int
	// User returns the account of the run, "" if it is unknown. It is called only when a
	// revision is stored; optional.
	User func(context.Context) string
}

// record is the revision of a run in progress.
type record struct {
	cluster  Cluster
	history  History
	revision Revision
	number   int            // 0: the run has not begun
	stored   *history.Index // the history as read under the lock; nil: not read yet
	run      *track.Tracker
}

// record returns the record of a run on a set.
func (r Run) record(set *Set) *record {
	revision := r.Metadata.Revision
	revision.Plan, revision.Resources, revision.Hooks = r.Plan, r.Stream.Resources, r.Stream.Hooks
	return &record{
		cluster:  r.Cluster,
		history:  History{Cluster: r.Cluster, Parent: set.Parent, Namespace: r.Namespace, Limit: r.Metadata.Limit, ParentNumber: set.CoveringNumber(r.members()), User: r.Metadata.User},
		revision: revision,
		stored:   set.HistoryIndex(),
		run:      track.New(r.Plan, time.Now()),
	}
}

// begin stores the revision, before the first write of the run.
func (c *record) begin(ctx context.Context) (err error) {
	ctx = activity.For(ctx, "for the history")
	if c.revision.Cluster, err = kube.ClusterID(ctx, c.cluster); err != nil {
		return err
	}
	if c.stored == nil {
		stored, err := c.history.ReadIndex(ctx)
		if err != nil {
			return err
		}
		c.stored = &stored
	}
	c.number, err = c.history.BeginAfter(ctx, *c.stored, c.revision)
	return err
}

// follow returns a function that records the times of the run, and passes events on.
func (c *record) follow(next func(apply.Event)) func(apply.Event) {
	return func(e apply.Event) {
		c.run.Take(e)
		if next != nil {
			next(e)
		}
	}
}

// end records how the run ended, and how long it took. An interrupted run gets some time for it; a
// run that lost its lock writes nothing more, and the next run cleans up.
func (c *record) end(ctx context.Context, took time.Duration, ended error) error {
	if c.number == 0 || errors.Is(context.Cause(ctx), lease.ErrLost) {
		return nil
	}
	limit := 30 * time.Second
	if ctx.Err() != nil {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	status, times := Failed, RunTimes{Seconds: took.Round(time.Millisecond).Seconds()}
	if ended == nil { // the waves of other runs are no measure
		status, times.ByWave = Deployed, c.run.WaveTimes(c.stored.LastTimes().ByWave)
	}
	return c.history.End(ctx, c.number, status, times)
}
