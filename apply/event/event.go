package event

import (
	"time"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// State is the state of a resource in a run. Every resource ends in exactly
// one of the final states.
type State string

// The states, in the order in which a resource may pass through them.
const (
	Pending  State = "pending"  // its wave is not open, or a dependency is not applied yet
	Applying State = "applying" // its PATCH is in flight, or waits to be retried
	Waiting  State = "waiting"  // applied, not ready yet

	Applied    State = "applied"     // final: applied, and nothing waits for its readiness
	Ready      State = "ready"       // final: applied, and its health meets the gate
	Deferred   State = "deferred"    // final, dry run only: its dependencies would be applied earlier in this run
	Failed     State = "failed"      // final: refused by the API server, or will not become ready
	TimedOut   State = "timed out"   // final: not ready in time
	Skipped    State = "skipped"     // final: a dependency failed
	NotStarted State = "not started" // final: the run ended before anything was sent for it
	Unsettled  State = "unsettled"   // final: sent, but the run ended before the answer or before it was ready

	Deleting State = "deleting" // its deletion was requested, and it still exists
	Deleted  State = "deleted"  // final: it is gone, or did not exist
	Kept     State = "kept"     // final: it must not be deleted
)

// Words returns the state for people; programs read its string.
func (s State) Words() string {
	if s == Unsettled {
		return "not finished"
	}
	return string(s)
}

// Final reports whether the state is final.
func (s State) Final() bool {
	return s != Pending && s != Applying && s != Waiting && s != Deleting
}

// Succeeded reports whether the state is a success.
func (s State) Succeeded() bool { return s == Ready || s == Applied || s == Deferred }

// Op is the operation of a run on a resource.
type Op string

// The operations, as messages name them.
const (
	OpApply  Op = "apply"    // its PATCH
	OpWait   Op = "wait for" // its readiness
	OpDelete Op = "delete"   // its DELETE, and the wait until it is gone
)

// Event is one transition: the resource moved to State. An event with a zero
// ID is about the whole wave: Applying or Deleting when it opens, Ready or
// Deleted when it is complete.
type Event struct {
	Time  time.Time // when it happened, by the local clock
	Op    Op        // the operation that it belongs to
	ID    object.ID
	Layer string // the layer that the resource is in; "" for none
	Wave  int    // index into the plan's waves
	State State  // the new state
	Change
	// Assumed is set for Ready when nothing in the object's status says so.
	Assumed bool
	// Health is the health of the object; GradeUnset where the run has not judged it.
	Health health.Grade
	Detail string // what it waits for, or why it ended; may be ""
	Err    error  // an *Error with state Failed or TimedOut, else nil
	// Hook is set in the events of a hook, which belongs to no wave; nil for a resource of
	// the plan.
	Hook *Hook
}

// Change is the effect of the run on an object, as known so far.
type Change struct {
	// Unchanged is set when nothing was sent: the object is as it was applied
	// last, or did not exist when it was to be deleted.
	Unchanged bool
	// Created is set when the run is proven to have created the object.
	Created bool
}

// Hook is about the hooks that run around a plan.
type Hook struct {
	Event string // at which it runs, "pre-install"
	// Count is the number of hooks that are about to run. Such an event has no ID.
	Count int
	// Log is the log of a container of the hook. Such an event is no transition: nothing else
	// but Time and ID is set.
	Log *ContainerLog
}

// EndsWave reports whether the event is the success of a whole wave.
func (e Event) EndsWave() bool {
	return e.ID == (object.ID{}) && (e.State == Ready || e.State == Deleted)
}
