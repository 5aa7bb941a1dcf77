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

// Reporter is a follower that also reports the outcome.
type Reporter interface {
	follower
	End(events.Outcome)
}
