package state

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply"
)

// apply does the part that requires the lock, or a dry run without it.
func (r Run) apply(ctx context.Context) (apply.Summary, error) {
	if !r.Applier.DryRun {
		tried, err := r.attempt(ctx)
		return tried.summary, errors.Join(tried.failure, err)
	}
	set, err := r.openRecovered(ctx, true)
	if err != nil {
		return apply.Summary{}, err
	}
	if err := r.assumeMigrated(ctx, set); err != nil {
		return apply.Summary{}, err
	}
	return r.dryRun(ctx, set)
}

// attempt applies the stream and prunes. The returned error is about the
// steps around these: the set could not be read, or the outcome not be
// recorded.
func (r Run) attempt(ctx context.Context) (attempt, error) {
	set, err := r.openRecovered(ctx, r.Applier.DryRun)
	if err != nil {
		return attempt{}, err
	}
	if remark := set.RecoveryNote(); remark != "" {
		r.OnNote(remark)
	}
	tried := attempt{set: set}
	record, checked := r.record(set), r.check
	var before []Entry // the history before the run, read only when there are hooks
	r.Applier.Begin = func(ctx context.Context) error {
		if err := checked(ctx); err != nil {
			return err
		}
		if len(r.Stream.Hooks) > 0 {
			var err error
			if before, err = r.history().List(ctx); err != nil {
				return err
			}
		}
		if err := record.begin(ctx); err != nil {
			return err
		}
		r.OnLastRun(record.stored.LastTimes())
		set.SetRevision(record.number)
		if err := set.MigrateMembers(ctx, r.Applier.Manager); err != nil {
			return err
		}
		err := set.Widen(ctx, r.members())
		tried.began = err == nil
		return err
	}
	around := r.around(set, &before)
	r.Applier.First = around.Pre
	applier := r.Applier
	applier.Events = record.follow(applier.Events)
	tried.summary, tried.failure = applier.Run(ctx, r.Plan, r.Stream.Objects)
	if tried.failure == nil {
		var deleted apply.Summary
		deleted, tried.failure = r.deleteObsolete(ctx, set)
		tried.summary = tried.summary.Append(deleted)
	}
	if tried.failure == nil {
		tried.failure = around.Post(ctx)
	}
	tried.summary = around.WithHookResults(tried.summary)
	tried.revision = record.number
	return tried, record.end(ctx, tried.summary.Took, tried.failure)
}

// deleteObsolete deletes what is to be deleted when all of the stream is ready.
func (r Run) deleteObsolete(ctx context.Context, set *Set) (apply.Summary, error) {
	if r.Prune {
		return r.prune(ctx, set)
	}
	r.OnRemoving, r.undone.removeAfter = r.OnPruning, r.Plan
	return r.removeCreated(ctx, set, r.undone.created)
}
