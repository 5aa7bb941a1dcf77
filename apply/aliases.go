package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/gates"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/internal/snapshot"
	"github.com/ordapply/ordapply/internal/stream"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
	"github.com/ordapply/ordapply/removal"
)

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

// Existing is what is proven about an object before a run.
type Existing = progress.Existing

// WaitReason is what keeps a resource from its next state.
type WaitReason = progress.WaitReason

// The reasons for which a resource waits.
const (
	WaitNone      = progress.WaitNone      // it waits for nothing, or for the answer to a request
	WaitOrder     = progress.WaitOrder     // an earlier wave, or a resource that it depends on
	WaitKind      = progress.WaitKind      // the API server does not serve its kind, or one that it needs
	WaitExternal  = progress.WaitExternal  // an object outside the stream does not exist, or is not ready
	WaitDeletion  = progress.WaitDeletion  // the old object is being deleted
	WaitRetry     = progress.WaitRetry     // its request failed, and is sent again
	WaitReadiness = progress.WaitReadiness // it is applied, and does not report ready
	WaitEndpoints = progress.WaitEndpoints // it is applied, and a Service that it calls has no ready endpoint
)

// Schedule selects how a plan's order is enforced. Each keeps all edges and layers.
type Schedule = gates.Schedule

// The schedules.
const (
	Waves = gates.Waves    // opens one wave after the other; the default
	Graph = gates.EachNode // starts each resource as soon as its own dependencies are met; waves are only labels
)

// ParseSchedule parses "waves" or "graph"; anything else is an error.
func ParseSchedule(s string) (Schedule, error) { return gates.ParseSchedule(s) }

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

// WithTimeout returns a context that ends after limit with a cause, which
// should match context.DeadlineExceeded: a run then ends by its timeout instead
// of an interrupt. Use PastDeadline for work that must outlive the timeout, such
// as explaining the end of a run.
func WithTimeout(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	return loop.WithTimeout(ctx, limit, cause)
}

// PastDeadline returns a context with the values of ctx that lasts at most
// limit. It ends on an interrupt, but not by the timeout of WithTimeout.
func PastDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return loop.PastDeadline(ctx, limit)
}

// Remover deletes live objects wave by wave.
type Remover = removal.Remover

// Meta returns the part of an object that selection and ordering use.
func Meta(obj *unstructured.Unstructured) object.Meta { return kube.Meta(obj) }

// Input is one manifest and its source.
type Input = stream.Input

// Scope decides the namespaces of objects.
type Scope = stream.Scope

// Stream is a set of manifests that is ready to be planned and applied:
// namespaces are resolved and IDs are unique.
type Stream = stream.Stream

// Inputs returns manifests as inputs of a stream.
func Inputs(manifests []manifest.Manifest) []Input { return stream.Inputs(manifests) }

// NewStream sets the namespace of namespaced objects, as kubectl does,
// removes it from cluster-scoped ones, as the API server does, and rejects
// two objects with one ID and different contents. It reports all errors at
// once; the stream then still holds every object, so that further checks can
// run. The inputs' objects are not changed.
func NewStream(inputs []Input, scope Scope) (*Stream, error) { return stream.NewStream(inputs, scope) }

// Find returns the metadata of the resources that exist in the cluster. It
// sends one LIST for each kind and namespace, or one GET for each resource
// where lists are not allowed. The error joins one for each kind that cannot be
// read, or is not served and may have objects; the map holds the others.
func Find(ctx context.Context, cluster kube.Cluster, resources []ordering.Resource) (map[object.ID]*unstructured.Unstructured, error) {
	return snapshot.Find(ctx, cluster, resources)
}
