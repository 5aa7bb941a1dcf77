package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/run/loop"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// State is the state of a resource in a run. Every resource ends in exactly
// one of the final states.
type State = event.State

// The states, in the order in which a resource may pass through them.
const (
	Pending    = event.Pending    // its wave is not open, or a dependency is not applied yet
	Applying   = event.Applying   // its PATCH is in flight, or waits to be retried
	Waiting    = event.Waiting    // applied, not ready yet
	Applied    = event.Applied    // final: applied, and nothing waits for its readiness
	Ready      = event.Ready      // final: applied, and its health is what the gate asks for
	Deferred   = event.Deferred   // final, dry run only: its dependencies would be applied earlier in this run
	Failed     = event.Failed     // final: refused by the API server, or will not become ready
	TimedOut   = event.TimedOut   // final: not ready in time
	Skipped    = event.Skipped    // final: a dependency failed
	NotStarted = event.NotStarted // final: the run ended before anything was sent for it
	Unsettled  = event.Unsettled  // final: sent, but the run ended before the answer or before it was ready
	Deleting   = event.Deleting   // its deletion was requested, and it still exists
	Deleted    = event.Deleted    // final: it is gone, or did not exist
	Kept       = event.Kept       // final: it must not be deleted
)

// Existing is what is proven about an object before a run.
type Existing = event.Existing

// WaitReason is what keeps a resource from its next state.
type WaitReason = event.WaitReason

// The reasons for which a resource waits.
const (
	WaitNone      = event.WaitNone      // it waits for nothing, or for the answer to a request
	WaitOrder     = event.WaitOrder     // an earlier wave, or a resource that it depends on
	WaitKind      = event.WaitKind      // the API server does not serve its kind, or one that it needs
	WaitExternal  = event.WaitExternal  // an object outside the stream does not exist, or is not ready
	WaitDeletion  = event.WaitDeletion  // the old object is being deleted
	WaitRetry     = event.WaitRetry     // its request failed, and is sent again
	WaitReadiness = event.WaitReadiness // it is applied, and does not report ready
	WaitEndpoints = event.WaitEndpoints // it is applied, and a Service that it calls has no ready endpoint
)

// Schedule selects how a plan's order is enforced. Each keeps all edges and layers.
type Schedule = loop.Schedule

// The schedules.
const (
	Waves = loop.Waves    // opens one wave after the other; the default
	Graph = loop.EachNode // starts each resource as soon as its own dependencies are met; waves are only labels
)

// ParseSchedule parses "waves" or "graph"; anything else is an error.
func ParseSchedule(s string) (Schedule, error) { return loop.ParseSchedule(s) }

// Op is the operation of a run on a resource.
type Op = event.Op

// The operations, as messages name them.
const (
	OpApply  = event.OpApply  // its PATCH
	OpWait   = event.OpWait   // its readiness
	OpDelete = event.OpDelete // its DELETE, and the wait until it is gone
)

// Event is one transition of a resource, or of a whole wave.
type Event = event.Event

// Result is the outcome of one resource.
type Result = event.Result

// Summary is the outcome of a run, with one result per step in plan order.
type Summary = event.Summary

// Error is the failure of one resource: the wave, the operation, the resource
// and the cause.
type Error = event.Error

// TimeoutError reports a resource that was not ready, or not gone, in time.
type TimeoutError = event.TimeoutError

// RunTimeoutError ends a run whose timeout expired before everything was
// done.
type RunTimeoutError = event.RunTimeoutError

// ErrInterrupted ends a run whose context was canceled. It waits up to 10s for
// requests in flight.
var ErrInterrupted = event.ErrInterrupted

// Diagnosis is what the cluster reports about a resource that did not become
// ready.
type Diagnosis = event.Diagnosis

// Finding is one piece of evidence from the cluster.
type Finding = event.Finding

// ContainerLog is the end of what a container of a Pod wrote.
type ContainerLog = event.ContainerLog

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
type Remover = remove.Remover

// Meta returns the part of an object that selection and ordering use.
func Meta(obj *unstructured.Unstructured) object.Meta { return kube.Meta(obj) }

// Input is one manifest and its source.
type Input = preflight.Input

// Scope decides the namespaces of objects.
type Scope = preflight.Scope

// Stream is a set of manifests that is ready to be planned and applied:
// namespaces are resolved and IDs are unique.
type Stream = preflight.Stream

// Inputs returns manifests as inputs of a stream.
func Inputs(manifests []manifest.Manifest) []Input { return preflight.Inputs(manifests) }

// NewStream sets the namespace of namespaced objects, as kubectl does,
// removes it from cluster-scoped ones, as the API server does, and rejects
// two objects with one ID and different contents. It reports all errors at
// once; the stream then still holds every object, so that further checks can
// run. The inputs' objects are not changed.
func NewStream(inputs []Input, scope Scope) (*Stream, error) {
	return preflight.NewStream(inputs, scope)
}

// Find returns the metadata of the resources that exist in the cluster. It
// sends one LIST for each kind and namespace, or one GET for each resource
// where lists are not allowed. The error joins one for each kind that cannot be
// read, or is not served and may have objects; the map holds the others.
func Find(ctx context.Context, cluster kube.Cluster, resources []ordering.Resource) (map[object.ID]*unstructured.Unstructured, error) {
	return request.FindMetadata(ctx, cluster, resources)
}
