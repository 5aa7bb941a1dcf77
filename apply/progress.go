package apply

import "github.com/ordapply/ordapply/progress"

// State is the state of a resource in a run. Every resource ends in exactly
// one of the final states.
type State = progress.State

// The states, in the order in which a resource may pass through them.
const (
	Pending    = progress.Pending    // its wave is not open, or a dependency is not applied yet
	Applying   = progress.Applying   // its PATCH is in flight, or waits to be retried
	Waiting    = progress.Waiting    // applied, not ready yet
	Applied    = progress.Applied    // final: applied, and nothing waits for its readiness
	Ready      = progress.Ready      // final: applied, and its health is what the gate asks for
	Deferred   = progress.Deferred   // final, dry run only: its dependencies would be applied earlier in this run
	Failed     = progress.Failed     // final: refused by the API server, or will not become ready
	TimedOut   = progress.TimedOut   // final: not ready in time
	Skipped    = progress.Skipped    // final: a dependency failed
	NotStarted = progress.NotStarted // final: the run ended before anything was sent for it
	Unsettled  = progress.Unsettled  // final: sent, but the run ended before the answer or before it was ready
	Deleting   = progress.Deleting   // its deletion was requested, and it still exists
	Deleted    = progress.Deleted    // final: it is gone, or did not exist
	Kept       = progress.Kept       // final: it must not be deleted
)

// Op is the operation of a run on a resource.
type Op = progress.Op

// The operations, as messages name them.
const (
	OpApply  = progress.OpApply  // its PATCH
	OpWait   = progress.OpWait   // its readiness
	OpDelete = progress.OpDelete // its DELETE, and the wait until it is gone
)

// Event is one transition of a resource, or of a whole wave.
type Event = progress.Event

// Result is the outcome of one resource.
type Result = progress.Result

// Summary is the outcome of a run, with one result per step in plan order.
type Summary = progress.Summary

// Error is the failure of one resource: the wave, the operation, the resource
// and the cause.
type Error = progress.Error

// TimeoutError reports a resource that was not ready, or not gone, in time.
type TimeoutError = progress.TimeoutError

// RunTimeoutError ends a run whose timeout expired before everything was
// done.
type RunTimeoutError = progress.RunTimeoutError

// ErrInterrupted ends a run whose context was canceled. It waits up to 10s for
// requests in flight.
var ErrInterrupted = progress.ErrInterrupted

// Diagnosis is what the cluster reports about a resource that did not become
// ready.
type Diagnosis = progress.Diagnosis

// Finding is one piece of evidence from the cluster.
type Finding = progress.Finding

// ContainerLog is the end of what a container of a Pod wrote.
type ContainerLog = progress.ContainerLog
