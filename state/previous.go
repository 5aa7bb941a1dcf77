package state

import (
	"context"
	"errors"
	"fmt"
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

// deployedBefore is the last revision that was deployed before the newest one and
// has another content: to go back to what a rollback went back to is to stay. Where
// the newest failed and is the same as what was deployed last, it is for the user to
// say which one is meant.
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
			return Entry{}, fmt.Errorf("revision %d, the last, did not get ready and is the same as revision %d, which was deployed before it: name the one to go back to with --to-revision", newest.Number, e.Number)
		}
	}
	return Entry{}, errNothingBefore
}

var errNothingBefore = errors.New("there is nothing to go back to: no revision before the last was deployed")
