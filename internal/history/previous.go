package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/internal/track"
)

// RollbackTarget is the default target of a rollback.
type RollbackTarget struct {
	Number int // that of the revision
	// Resumed is set when the newest revision is a rollback to this one that
	// failed or was killed, and is resumed.
	Resumed bool
	entry   Entry // with the content to apply
}

// RollbackTarget returns the revision that was deployed before the newest one; if
// the newest is an unfinished rollback, its target. It is an error if there is none.
func (h History) RollbackTarget(ctx context.Context) (RollbackTarget, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return RollbackTarget{}, err
	}
	if n := len(entries); n > 0 {
		if newest := entries[n-1]; newest.Rollback > 0 && newest.Status != Deployed {
			return RollbackTarget{newest.Rollback, true, newest}, nil
		}
	}
	before, err := deployedBefore(entries)
	return RollbackTarget{Number: before.Number, entry: before}, err
}

// ReadRollbackTarget reads the revision. The target of a resumed rollback may have
// been trimmed; the rollback has the same content.
func (h History) ReadRollbackTarget(ctx context.Context, p RollbackTarget) (*Revision, error) {
	r, err := h.read(ctx, p.entry)
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
// errDeployedLast when that was the same revision, or one of the same content.
func (h History) DeployedBefore(ctx context.Context, failed int) (*Revision, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return nil, err
	}
	last := LastDeployed(entries)
	if last == nil {
		return nil, nil
	}
	for _, e := range entries {
		if e.Number == failed && (e.Number == last.Number || e.digest == last.digest) {
			return nil, ErrDeployedLast
		}
	}
	return h.read(ctx, *last)
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
