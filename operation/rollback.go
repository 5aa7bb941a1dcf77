package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/history"
)

// Rollback applies an earlier revision of an apply set again, in its recorded order, and prunes
// the members that it does not contain. The options of the stream and its order have no meaning.
type Rollback struct {
	Apply
	// ToRevision is the revision to go back to; 0: the one deployed before the latest.
	ToRevision int
}

// NewRollback returns the default options for a set.
func NewRollback() Rollback { return Rollback{Apply: NewApply()} }

// RunOn applies the revision.
func (r Rollback) RunOn(ctx context.Context, c *console.Console) error {
	if r.ToRevision < 0 {
		return usage.Errorf("--to-revision=%d: revisions are numbered from 1", r.ToRevision)
	}
	if !r.Wait {
		return usage.Errorf("a rollback prunes once the whole revision is ready: leave out --wait=false")
	}
	r.Prune = true
	if err := errors.Join(r.checkHistory(), r.checkWait()); err != nil {
		return err
	}
	return r.runSession(ctx, c, func(ctx context.Context, c *console.Console, files *report.Files) (session, error) {
		j, target, err := r.prepareRollback(ctx, c, files)
		if err == nil {
			plain.Fprintln(c.Err, rollbackText(r.Set, target))
		}
		return j, err
	})
}

// prepareRollback returns the session that applies an earlier revision.
func (r *Rollback) prepareRollback(ctx context.Context, c *console.Console, files *report.Files) (j session, target history.RollbackTarget, err error) {
	if j, err = r.newSession(ctx, c, files); err != nil {
		return j, target, err
	}
	if j.target, err = connect.To(ctx, c, r.Cluster, files.Watch); err != nil {
		return j, target, err
	}
	j, target, err = r.rollbackSession(ctx, j, r.ToRevision)
	return j, target, connect.ExplainForbidden(err, j.target, r.Set, "--rollback")
}

// rollbackSession returns the session that applies an earlier revision to the set; 0 means
// the previous one.
func (a *Apply) rollbackSession(ctx context.Context, j session, number int) (_ session, target history.RollbackTarget, err error) {
	set, err := connect.OpenExisting(ctx, j.target, a.Set)
	if err != nil {
		return j, target, err
	}
	if number > 0 {
		target, err = set.History.RollbackTo(ctx, number)
	} else {
		target, err = set.History.RollbackTarget(ctx)
	}
	if err != nil {
		return j, target, err
	}
	r, err := set.History.ReadRollbackTarget(ctx, target)
	if err != nil {
		return j, target, err
	}
	if a.DryRun != "none" {
		r.Plan.Hooks = rollbackHooks(r)
	}
	if number > 0 {
		j, err = a.revisionSession(ctx, j, r, "--rollback")
		return j, target, err
	}
	if target.Resumed {
		r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("resuming the rollback to revision %d, which did not complete; to roll back to another, use --to-revision", r.Number))
	}
	j, err = a.revisionSession(ctx, j, r, "--rollback")
	j.precondition = func(ctx context.Context) error { return checkPreviousRevision(ctx, set.History, r.Number) }
	return j, target, err
}

// rollbackHooks returns the hooks that a rollback to a revision runs.
func rollbackHooks(r *history.Revision) []ordering.PlannedHook {
	all, _ := hook.Read(r.Hooks, r.Plan.OrderSource)
	events := all.EventsOf(hook.Rollback)
	return slices.DeleteFunc(slices.Clone(r.Plan.Hooks), func(h ordering.PlannedHook) bool { return !slices.Contains(events, hook.Event(h.Event)) })
}

// rollbackText names the two revisions of a rollback.
func rollbackText(set string, target history.RollbackTarget) string {
	return plain.Line(fmt.Sprintf("rolling back %s from revision %s to revision %s", set, revisionText(target.From.Number, target.From), revisionText(target.Number, target.To)))
}

// revisionText names a revision with its status, its time and its account, as far as it is listed.
func revisionText(number int, e history.Entry) string {
	if e.Number == 0 {
		return fmt.Sprintf("%d (no longer listed)", number)
	}
	text := fmt.Sprintf("%d (%s, created %s", number, e.Status, e.Created.Format(time.RFC3339))
	if e.User != "" {
		text += " by " + e.User
	}
	return text + ")"
}

// checkPreviousRevision returns an error if another run, which held the lock until now,
// changed the previous revision.
func checkPreviousRevision(ctx context.Context, history history.History, number int) error {
	now, err := history.RollbackTarget(ctx)
	if err != nil || now.Number == number {
		return err
	}
	return fmt.Errorf("another run ended in the meantime: the rollback was to go to revision %d, but the one before the latest is now %d; nothing was changed. Choose one with --to-revision", number, now.Number)
}
