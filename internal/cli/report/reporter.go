package report

import (
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/view/events"
)

// follower follows a run: Begin, then any number of events. Event is called from
// the run's loop and must not block. Extend is called between events when a
// prune adds waves to the plan, RollBack when the run failed and another one undoes it.
type follower interface {
	Begin(*track.Tracker)
	Event(track.Transition)
	Extend(track.Extension)
	RollBack(revision int, run *track.Tracker)
}

// Recorder is a follower that also records what is known about a run beside its events: the JSON
// events, the page, which is made from them, and a cluster of a fleet. Other followers show none
// of it.
type Recorder interface {
	// Revision reports the revision that the run applies, and the account that stored it; "" if an
	// earlier run did.
	Revision(number int, user string)
	// LostOrder reports that objects of the stream lost their order since the last apply, which
	// lost describes.
	LostOrder(lost error)
}

var _ Recorder = (*events.Log)(nil)

// Reporter is a follower that also reports the outcome.
type Reporter interface {
	follower
	End(events.Outcome)
}
