package report

import (
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/track"
)

// reporter reports a run: Begin, any number of events, End. Event is called from
// the run's loop and must not block. Extend is called between events when a
// prune adds waves to the plan, RollBack when the run failed and another one undoes it.
type reporter interface {
	Begin(*track.Tracker)
	Event(track.Transition)
	Extend(track.Extension)
	RollBack(revision int, run *track.Tracker)
	End(events.Outcome)
}
