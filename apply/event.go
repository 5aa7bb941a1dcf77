package apply

import (
	"time"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// State is where a resource stands in a run. Every resource ends in exactly
// one of the final states.
type State string

// The states, in the order in which a resource may pass through them.
const (
	Pending  State = "pending"  // its wave has not opened, or what it needs is not applied yet
	Applying State = "applying" // its PATCH is out, or waits to be sent again
	Waiting  State = "waiting"  // applied, not ready yet

	Applied    State = "applied"     // final: applied, and no gate waits for more
	Ready      State = "ready"       // final
	Deferred   State = "deferred"    // final, dry run only: what it needs would come earlier in this run
	Failed     State = "failed"      // final
	TimedOut   State = "timed out"   // final: not ready in time
	Skipped    State = "skipped"     // final: something that it needs did not get there
	NotStarted State = "not started" // final: the run ended before anything was sent for it
	Unsettled  State = "unsettled"   // final: sent, but the run ended before it was ready, or its PATCH answered

	Deleting State = "deleting" // its deletion is asked for, and it is not gone yet
	Deleted  State = "deleted"  // final: it is gone, or was not there
	Kept     State = "kept"     // final: it must not be deleted, and was not
)

// Final tells whether a resource that reached the state stays there.
func (s State) Final() bool {
	return s != Pending && s != Applying && s != Waiting && s != Deleting
}

// done tells whether the state is what the run wanted.
func (s State) done() bool { return s == Ready || s == Applied || s == Deferred }

// Op is what a run does with a resource.
type Op string

// The operations, in the words of messages.
const (
	OpApply  Op = "apply"
	OpWait   Op = "wait for"
	OpDelete Op = "delete"
)

// opOf is the operation that a transition between two states belongs to.
func opOf(from, to State) Op {
	if from == Waiting || to == Waiting || to == Ready {
		return OpWait
	}
	return OpApply
}

// Event is one transition: the resource moved to State. An event with a zero
// ID speaks of the whole wave: it is Applying or Deleting when it opens, Ready
// or Deleted when it is over.
type Event struct {
	Time  time.Time
	Op    Op
	ID    object.ID
	Layer string // that placed the resource; "" when none did
	Wave  int    // index into the plan's waves
	State State
	// Unchanged says that nothing was sent: the object is as it was applied last,
	// or was not there to be deleted.
	Unchanged bool
	// Assumed says of Ready that nothing in the object says so.
	Assumed bool
	// Health is how the object is, where the run has judged it.
	Health health.Grade
	Detail string // what it waits for, or why it ended so; "" when there is nothing to say
	Err    error
	// Hook is the event that a hook runs at; "" for a resource of the plan. A hook is
	// in no wave.
	Hook string
}

// EndsWave tells whether the event is the good end of a whole wave.
func (e Event) EndsWave() bool {
	return e.ID == (object.ID{}) && (e.State == Ready || e.State == Deleted)
}
