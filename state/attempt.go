package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/apply"
	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// attempt is the execution of a run under the lock.
type attempt struct {
	set            *set.Set
	record         *record
	finishRecovery func() // waits for what is still being found out about the set
	revision       int    // number of its own revision
	began          bool
	operation      hook.Operation
	summary        applyevent.Summary
	failure        error // of applying and pruning
	pruned         bool  // something was pruned, and the prune failed: the run cannot be undone any more
	cleaned        bool  // no member is left that the stream does not contain
	did            history.Record

	// namesAllMembers reports whether the stream was seen to have all members of a kind in a
	// namespace, before the first write; nil: unknown.
	namesAllMembers membersKnown
}

// apply does the part that requires the lock, or a dry run without it.
func (r Run) apply(ctx context.Context) (applyevent.Summary, error) {
	if !r.Applier.DryRun {
		tried, err := r.attempt(ctx)
		return tried.summary, errors.Join(tried.failure, err)
	}
	set, err := r.openRecovered(ctx, true)
	if err != nil {
		return applyevent.Summary{}, err
	}
	if err := r.assumeMigrated(ctx, set); err != nil {
		return applyevent.Summary{}, err
	}
	return r.dryRun(ctx, set)
}

// attempt applies the stream and prunes. The returned error is about the
// steps around these: the set could not be read, or the outcome not be
// recorded.
func (r Run) attempt(ctx context.Context) (attempt, error) {
	begun := r.begun()
	defer begun.Wait()
	set, finish, err := r.startRecovery(ctx, r.Applier.DryRun)
	if err != nil {
		return attempt{}, err
	}
	defer finish()
	tried := attempt{set: set, finishRecovery: finish, record: r.record(set)}
	if err := tried.record.read(ctx); err != nil {
		return attempt{}, err
	}
	defer func() { _, _ = tried.record.draft() }() // it reads the plan and the stream
	r.Applier.MayRecreate = r.recreatedSince(tried.record.entries())
	around := r.around(&tried)
	around.Begun = begun
	tried.summary, tried.failure = r.applyStream(ctx, &tried, around)
	last := []func() error{
		func() error { return r.endWithDeletion(ctx, &tried) },
		func() error { return around.Post(ctx, tried.summary) },
	}
	if slices.ContainsFunc(tried.summary.Results, func(result applyevent.Result) bool { return result.Unready }) {
		slices.Reverse(last) // nothing is deleted before all is ready
	}
	for _, do := range last {
		if tried.failure == nil {
			tried.failure = do()
		}
	}
	if err := around.Fail(ctx, tried.failure); err != nil {
		tried.failure = errors.Join(tried.failure, err)
	}
	tried.summary = around.WithHookResults(tried.summary)
	tried.revision, tried.did = tried.record.number, tried.record.outcome(tried)
	tried.did.Failure, tried.did.Pruned = r.reasonOf(tried.failure), tried.cleaned
	return tried, tried.record.end(ctx, tried)
}

// begun begins the apply, while the run reads the set. For a rollback it is nil: the history decides
// what that may do to the objects.
func (r Run) begun() *apply.Begun {
	if r.Metadata.Revision.Rollback > 0 {
		return nil
	}
	r.Applier.MayRecreate = nil // only a rollback's may
	return r.Applier.Begin(r.Plan, r.Stream.Objects)
}

// endsWithApply reports whether nothing is deleted, released or undone after the stream is applied,
// so that a resource that turns out to be broken then has stopped nothing. A set that is new has
// nothing to prune, unless members of others are taken over.
func (r Run) endsWithApply(set *set.Set) bool {
	deletes := r.Prune && (r.TakeOver || set.Known()) || len(r.undone.created) > 0 || len(r.undone.adopted) > 0
	return r.Last && !deletes && r.Undo == nil && len(r.Atomic) == 0
}

// applyStream applies the stream, and stores the run's revision before the first write.
func (r Run) applyStream(ctx context.Context, tried *attempt, around *hooks.Around) (applyevent.Summary, error) {
	prepared, summary, err := around.Prepare(ctx)
	if err != nil {
		return summary, err
	}
	if err := r.recovered(ctx, tried); err != nil {
		return prepared.Abandon(err)
	}
	around.Last = r.endsWithApply(tried.set)
	if err := r.begin(ctx, tried, prepared.Existing()); err != nil {
		return prepared.Abandon(err)
	}
	tried.namesAllMembers = prepared.NamesAllMembers()
	return around.Apply(ctx, prepared)
}

// begin stores the run's revision, and widens the set, before the first write.
func (r Run) begin(ctx context.Context, tried *attempt, existing []applyevent.Existing) (err error) {
	set, record := tried.set, tried.record
	if err := r.OnExisting(existing, ordersOf(record.entries())); err != nil {
		return err
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := record.closeFormer(ctx, set.ManagedBy()); err != nil {
		return err
	}
	if tried.operation, err = r.operation(ctx, set, record.entries(), existing); err != nil {
		return err
	}
	notes, err := r.takeFrom(ctx, set, r.adopted(ctx, existing))
	if err != nil {
		return err
	}
	for _, note := range notes {
		r.OnNote(note)
	}
	record.history.Remember = set.Remember
	record.history.Vouch = func(ctx context.Context, number int, next history.Vouchers) error {
		if err := set.MigrateMembers(ctx, r.Applier.Manager); err != nil {
			return err
		}
		record.history.Vouchers = next
		return set.Vouch(ctx, number, next, r.members())
	}
	intent := planned(existing, record.entries(), r.Stream.Objects)
	intent.Operation = tried.operation
	if err := record.begin(ctx, intent); err != nil {
		return err
	}
	for _, note := range record.stored.Unvouched() {
		r.OnNote(note)
	}
	if newest := record.stored.Newest(); newest == nil || newest.Number < record.number {
		r.noteIfAny(record.keepingNote())
	}
	r.OnLastRun(record.stored.LastTimes())
	r.OnRevision(record.number)
	set.SetRevision(record.number)
	if err := set.MigrateMembers(ctx, r.Applier.Manager); err != nil {
		return err
	}
	err = set.Widen(ctx, r.members())
	tried.began = err == nil
	return err
}

// recovered waits for the recovery of the set, which goes on while the run reads the cluster, and
// makes the checks that require it.
func (r Run) recovered(ctx context.Context, tried *attempt) error {
	tried.finishRecovery()
	r.noteIfAny(tried.set.RecoveryNote())
	if err := r.checkMoves(ctx, tried.set); err != nil {
		return err
	}
	return r.checkEmptyPrune(ctx, tried.set)
}

// recreatedSince returns the objects that the runs that a rollback undoes may have recreated.
func (r Run) recreatedSince(entries []history.Entry) map[object.ID]bool {
	recreated := map[object.ID]bool{}
	for _, e := range entries {
		if to := r.Metadata.Revision.Rollback; to > 0 && e.Number > to {
			for _, id := range e.Record().Recreated {
				recreated[id] = true
			}
		}
	}
	return recreated
}

func (r Run) noteIfAny(text string) {
	if text != "" {
		r.OnNote(text)
	}
}

// endWithDeletion deletes obsolete objects, and adds them to the summary.
func (r Run) endWithDeletion(ctx context.Context, tried *attempt) error {
	deleted, err := r.deleteObsolete(ctx, tried)
	tried.summary = tried.summary.Append(deleted)
	tried.pruned = tried.pruned && err != nil // a failed hook after the prune is undone, as in Helm
	return err
}

// deleteObsolete does the run's deletions once all of the stream is ready.
func (r Run) deleteObsolete(ctx context.Context, tried *attempt) (applyevent.Summary, error) {
	if r.Prune {
		adopted := r.adoptions(tried.record.entries())
		summary, complete, err := r.prune(ctx, tried.set, adopted, r.knownMembers(tried))
		tried.cleaned = complete
		for _, result := range summary.Results {
			tried.pruned = tried.pruned || result.State != applyevent.Kept && result.State != applyevent.NotStarted
		}
		if err == nil {
			tried.record.released = slices.DeleteFunc(slices.Collect(maps.Keys(adopted.ByID)), func(id object.ID) bool {
				return r.Stream.Objects[id] != nil // the run adopted it again
			})
		}
		return summary, err
	}
	r.OnRemoving, r.undone.removeAfter = r.OnPruning, r.Plan
	deleted, err := r.removeCreated(ctx, tried.set, r.undone.created)
	return deleted, errors.Join(err, r.releaseAdopted(ctx, tried.set, r.undone.adopted))
}

// adoptions returns the objects that the run releases instead of pruning: adopted by
// earlier runs without becoming ready, or, in a rollback, since the revision that it goes
// back to.
func (r Run) adoptions(entries []history.Entry) history.Adoptions {
	out := history.Undeployed(entries)
	if to := r.Metadata.Revision.Rollback; to > 0 {
		out = out.With(history.AdoptedSince(entries, to))
	}
	return out
}

// releaseAdopted releases objects that a run adopted. A member of another set is given
// back.
func (r Run) releaseAdopted(ctx context.Context, set *set.Set, adopted []history.Adopted) error {
	if ctx.Err() != nil {
		return nil // the lock was lost, or the run interrupted
	}
	var errs []error
	for _, a := range adopted {
		if err := set.GiveBack(ctx, a); err != nil {
			errs = append(errs, err)
		} else if a.Set != "" {
			r.OnNote(fmt.Sprintf("%s is a member of apply set %s again, with the values of this run: apply that set again to restore its own", a.ID, a.Set))
		}
	}
	return errors.Join(errs...)
}
