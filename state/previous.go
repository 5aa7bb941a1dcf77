package state

import (
	"context"
	"errors"
	"slices"
)

// Previous is where a rollback goes that is told no revision.
type Previous struct {
	Number int
	// Resumed tells that the newest revision is a rollback to this one that was
	// killed or failed, and is gone on with.
	Resumed bool
	entry   Entry // that holds its content
}

// Previous is the revision that was deployed before the newest one; where that is
// a rollback that did not get through, the one that it goes to.
func (h History) Previous(ctx context.Context) (Previous, error) {
	entries, err := h.List(ctx)
	if err != nil {
		return Previous{}, err
	}
	if n := len(entries); n > 0 {
		if newest := entries[n-1]; newest.Rollback > 0 && newest.Status != Deployed {
			return Previous{newest.Rollback, true, newest}, nil
		}
	}
	before, err := deployedBefore(entries)
	return Previous{Number: before.Number, entry: before}, err
}

// ReadPrevious reads the revision. One that is gone on with may be over the limit
// by now; its rollback holds the same.
func (h History) ReadPrevious(ctx context.Context, p Previous) (*Revision, error) {
	r, err := h.read(ctx, p.entry)
	if err == nil {
		r.Number = p.Number
	}
	return r, err
}

// deployedBefore is the last revision that was deployed before the newest one, and
// is another: to go back to what a rollback went back to is to stay.
func deployedBefore(entries []Entry) (Entry, error) {
	last := max(0, len(entries)-1)
	for _, e := range slices.Backward(entries[:last]) {
		if (e.Status == Deployed || e.Status == Superseded) && e.digest != entries[last].digest {
			return e, nil
		}
	}
	return Entry{}, errors.New("there is nothing to go back to: no revision before the last was deployed")
}
