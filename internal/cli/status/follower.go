package status

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// pollInterval is the pause between two polls of a set.
const pollInterval = 2 * time.Second

// reading is a set as it was read once.
type reading struct {
	status     *setStatus
	live       map[object.ID]*unstructured.Unstructured // the members
	incomplete bool                                     // a part could not be read
	// versions reads the versions of the objects on which the status depends.
	versions func(context.Context) (versions, error)
}

// versions are the resourceVersions of objects by their uids, and the notes on objects
// that may be members.
type versions map[string]string

// statusFollower follows the status of a set by polling: every two seconds it reads
// the versions of the set's objects, and the whole set when one of them differs.
type statusFollower struct {
	read func(context.Context) (*reading, error) // reads the whole set
	show renderer

	last    *reading // nil if it failed
	seen    versions // as of just before the last reading; nil if unknown
	begun   bool     // the set was read once
	failing bool     // the last poll failed
}

// polled is the result of a poll.
type polled struct {
	status *setStatus // nil if nothing has changed
	err    error
}

// follow runs until ctx is done. It returns an error if the first poll fails;
// later errors are shown, and the poll is repeated. Only one poll runs at a time.
func (f *statusFollower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan polled, 1)
	next := time.NewTimer(0)
	defer next.Stop()
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-next.C:
			go func() {
				status, err := f.poll(ctx)
				results <- polled{status, err}
			}()
		case result := <-results:
			if ctx.Err() == nil {
				err = f.display(result)
			}
			next.Reset(pollInterval)
		case redraw := <-f.show.redraws():
			err = redraw()
		}
	}
	if ctx.Err() != nil {
		return watchEnded{}
	}
	return err
}

// poll reads the set and returns its status; nil if nothing has changed since the last
// poll. Versions that cannot be read count as a change.
func (f *statusFollower) poll(ctx context.Context) (*setStatus, error) {
	var found versions
	var err error
	if f.last != nil && !f.last.incomplete {
		found, err = f.last.versions(ctx)
		if err == nil && f.seen != nil && maps.Equal(found, f.seen) && !f.last.status.isOver(time.Now()) {
			return nil, nil
		}
	}
	f.seen = found // from before the reading, so that the next poll finds a change in between
	if f.last, err = f.read(ctx); err != nil {
		return nil, err
	}
	return f.last.status, nil
}

// display shows the result of a poll.
func (f *statusFollower) display(result polled) error {
	switch {
	case result.err != nil && !f.begun:
		return result.err
	case result.err != nil:
		f.failing = true
		return f.show.trouble(result.err)
	case result.status == nil:
		return nil
	}
	f.begun = true
	if f.failing {
		f.failing = false
		if err := f.show.trouble(nil); err != nil {
			return err
		}
	}
	return f.show.show(result.status)
}

// isOver reports whether time alone has changed the status.
func (s *setStatus) isOver(now time.Time) bool { return !s.Until.IsZero() && !now.Before(s.Until) }
