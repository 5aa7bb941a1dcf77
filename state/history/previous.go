package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/apply/track"
)

// RollbackTarget is the default target of a rollback.
type RollbackTarget struct {
	Number int // the revision's
	// Resumed is set when the newest revision is a rollback to this one that
	// failed or was killed, and is resumed.
	Resumed bool
	From    Entry // the newest revision
	To      Entry // the revision to go back to; zero if it was trimmed
	read    Entry // of its content: To, or the rollback to it that is resumed
}

// RollbackTarget returns the revision that was deployed before the newest one; if
// the newest is an unfinished rollback, its target. It is an error if there is none.
func (h History) RollbackTarget(ctx context.Context) (RollbackTarget, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return RollbackTarget{}, err
	}
	entries = Current(entries)
	if n := len(entries); n > 0 {
		if newest := entries[n-1]; newest.Rollback > 0 && newest.Status != Deployed {
			target := RollbackTarget{Number: newest.Rollback, Resumed: true, From: newest, read: newest}
			if at := slices.IndexFunc(entries, func(e Entry) bool { return e.Number == newest.Rollback }); at >= 0 {
				target.To = entries[at]
			}
			return target, nil
		}
	}
	before, err := deployedBefore(entries)
	if err != nil {
		return RollbackTarget{}, err
	}
	return RollbackTarget{Number: before.Number, From: entries[len(entries)-1], To: before, read: before}, nil
}

// RollbackTo is RollbackTarget for a revision that was chosen.
func (h History) RollbackTo(ctx context.Context, number int) (RollbackTarget, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return RollbackTarget{}, err
	}
	at := slices.IndexFunc(entries, func(e Entry) bool { return e.Number == number })
	if at < 0 {
		return RollbackTarget{}, h.unknownError(entries, number)
	}
	return RollbackTarget{Number: number, From: entries[len(entries)-1], To: entries[at], read: entries[at]}, nil
}

// ReadRollbackTarget reads the revision. The target of a resumed rollback may have
// been trimmed; the rollback has the same content.
func (h History) ReadRollbackTarget(ctx context.Context, p RollbackTarget) (*Revision, error) {
	r, err := h.readToApply(ctx, p.read)
	if err == nil {
		r.Number = p.Number
	}
	return r, err
}

// deployedBefore returns the last revision that was deployed before the
// newest one and has other content: going back to the same content would
// change nothing. If the newest failed and equals the one deployed last, the
// user has to choose.
func deployedBefore(entries []Entry) (Entry, error) {
	if len(entries) == 0 {
		return Entry{}, errNothingBefore
	}
	newest := entries[len(entries)-1]
	for _, e := range slices.Backward(entries[:len(entries)-1]) {
		switch {
		case e.Status != Deployed && e.Status != Superseded:
		case e.digest != newest.digest:
			return e, nil
		case newest.Status != Deployed:
			return Entry{}, fmt.Errorf("revision %d, the latest, did not become ready and is the same as revision %d, which was deployed before it: choose the revision to roll back to with --to-revision", newest.Number, e.Number)
		}
	}
	return Entry{}, errNothingBefore
}

var errNothingBefore = errors.New("nothing to roll back to: no revision before the latest was deployed")

// ErrDeployedLast reports that there is no revision to go back to.
var ErrDeployedLast = errors.New("nothing to roll back to: the revision that failed is the one deployed last")

// DeployedBefore returns the revision that was deployed when the run of revision
// failed began, 0 for the next one; nil when there was none. The error wraps
// ErrDeployedLast when that was the same revision, or one of the same content.
func (h History) DeployedBefore(ctx context.Context, failed int) (*Revision, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return nil, err
	}
	last := LastDeployed(Current(entries))
	if last == nil {
		return nil, nil
	}
	for _, e := range entries {
		if e.Number == failed && (e.Number == last.Number || e.digest == last.digest) {
			return nil, ErrDeployedLast
		}
	}
	return h.readToApply(ctx, *last)
}

// Current returns the revisions since another tool managed the set: earlier ones do not
// describe it now.
func Current(entries []Entry) []Entry {
	for i, e := range slices.Backward(entries) {
		if e.Record().HandedOver != "" {
			return entries[i+1:]
		}
	}
	return entries
}

// Close ends the history of a set that another tool manages from now on, or managed until
// now. Its revisions stay readable, and none of them is deployed any more.
func (h History) Close(ctx context.Context, stored Index, tool string) error {
	newest := stored.Newest()
	if newest == nil || newest.Record().HandedOver != "" {
		return nil
	}
	for i := range stored.entries {
		e := &stored.entries[i]
		status := e.Status
		if status == Deployed {
			status = Superseded
		}
		if i == len(stored.entries)-1 {
			next := e.Record()
			next.HandedOver = tool
			e.setRecord(next)
		} else if status == e.Status {
			continue
		}
		if err := h.mark(ctx, e, status); err != nil {
			return err
		}
	}
	return nil
}

// BeginDeletion records with the newest revision that the hooks of the set's deletion run.
func (h History) BeginDeletion(ctx context.Context) error {
	stored, err := h.ReadIndex(ctx)
	newest := stored.Newest()
	if err != nil || newest == nil || newest.Record().Deletion {
		return err
	}
	next := newest.Record()
	next.Deletion = true
	newest.setRecord(next)
	return h.mark(ctx, newest, newest.Status)
}

// LastDeployed returns the newest revision that is deployed; nil when none
// is.
func LastDeployed(entries []Entry) *Entry {
	for i := range slices.Backward(entries) {
		if entries[i].Status == Deployed {
			return &entries[i]
		}
	}
	return nil
}

// LastTimes returns the times of the revision that was deployed last; none if there is none.
func (s Index) LastTimes() track.RunTimes {
	if last := LastDeployed(s.entries); last != nil {
		return last.RunTimes
	}
	return track.RunTimes{}
}
