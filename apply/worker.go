package apply

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// op is the operation of a request.
type op int

const (
	opPatch       op = iota // server-side apply of obj
	opDiscover              // refresh discovery of a group-version
	opGet                   // read the live object, to see whether it still exists
	opDelete                // delete the live object, and return it as it was
	opEndpoints             // read whether a Service has a ready endpoint
	opGetExternal           // read the object id, which is outside the stream
	opRepair                // claim the fields that block a PATCH, and send it again
	opMigrate               // migrate the fields that previous managers own on the live object
	opDefinition            // read the CustomResourceDefinition id
	opPodOwner              // find the ReplicaSet that a Deployment is rolling out
)

// request is a unit of work for a worker. It is self-contained: workers do
// not access the run's state.
type request struct {
	op              op
	step            int // -1 when it belongs to no single step
	kind            kube.Kind
	obj             *unstructured.Unstructured // as in the manifest
	schema          map[string]any             // the schema of its kind, nil when unknown
	scaled          bool                       // a controller sets its replicas
	immutableFields []string                   // for opDelete: the immutable fields because of which it is deleted
	options         kube.PatchOptions
	precondition    identity // for opPatch: precondition, the object as it was read; zero: none
	discover        schema.GroupVersion
	namespace       string    // the Namespace to read, when step is -1
	refusal         error     // for opRepair: the error of the PATCH
	id              object.ID // the object of opEndpoints, opGetExternal and opDefinition
}

type reply struct {
	request
	live  *unstructured.Unstructured
	found bool // a ready endpoint
	err   error
}

// executeRequest executes a request.
func (a Applier) executeRequest(ctx context.Context, q request) reply {
	answer := reply{request: q}
	if q.op == opEndpoints {
		answer.found, answer.err = a.Cluster.HasEndpoints(ctx, q.id)
	} else {
		answer.live, answer.err = a.execute(ctx, q)
	}
	return answer
}

func (a Applier) execute(ctx context.Context, q request) (*unstructured.Unstructured, error) {
	switch q.op {
	case opDiscover:
		return nil, a.Cluster.Refresh(ctx, q.discover)
	case opGet:
		if q.step < 0 {
			return a.Cluster.Get(ctx, q.kind, "", q.namespace)
		}
		return a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
	case opGetExternal, opDefinition:
		return a.Cluster.Get(ctx, q.kind, q.id.Namespace, q.id.Name)
	case opDelete:
		live, err := a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
		if err != nil {
			return nil, err
		}
		if err := a.recreateRefusal(q.obj, live, q.immutableFields); err != nil {
			return nil, recreateError{err}
		}
		return live, a.Cluster.Delete(ctx, q.kind, live, kube.DeleteOptions{Unchanged: true, Foreground: true}) // a Job that is created again must not meet the Pods of the old one
	case opPodOwner:
		return a.currentReplicaSet(ctx, q.obj), nil
	case opMigrate:
		live, err := a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
		if err != nil {
			return nil, err
		}
		return nil, a.Cluster.Migrate(ctx, q.kind, live, a.previousManagersOf(live), q.options.Manager)
	}
	sent := desired(q.obj, q.schema, q.scaled)
	a.Membership.label(sent)
	if err := setFingerprint(sent); err != nil {
		return nil, err
	}
	if q.op == opRepair {
		return a.unblock(ctx, q, sent)
	}
	return a.patchWithPrecondition(ctx, q, sent)
}

// handleReply handles a reply.
func (r *run) handleReply(answer reply) {
	r.recordSent(answer)
	switch {
	case errors.Is(answer.err, kube.ErrFenced): // the run may no longer write: it ends now
		r.FencedOff(answer.err)
	case answer.op == opDiscover:
		r.handleDiscovery(answer.discover) // an error shows as kinds that stay unserved
	case answer.op == opGetExternal:
		r.handleExternalRead(answer)
	case answer.op == opEndpoints:
		r.handleEndpoints(answer)
	case answer.op == opDefinition:
		r.handleColumns(answer)
	case answer.step < 0:
		r.handleNamespace(answer)
	case r.steps[answer.step].state.Final():
	case answer.op == opGet:
		r.handleRead(answer)
	case answer.op == opPodOwner:
		r.handlePodOwner(answer.step, answer.live)
	case answer.op == opDelete:
		r.handleRecreateDelete(answer)
	case answer.op == opMigrate:
		r.migrated(answer)
	case answer.err != nil:
		r.retryOrFail(answer.step, answer)
	default:
		r.applied(answer.step, answer.live)
	}
}

// recordSent records whether a failed PATCH may have reached the API server.
func (r *run) recordSent(answer reply) {
	if answer.op != opPatch || answer.step < 0 || answer.err == nil {
		return
	}
	s := &r.steps[answer.step]
	if s.mayHaveReached = s.mayHaveReached || !kube.IsNotSent(answer.err); !s.mayHaveReached {
		s.sentAt = time.Time{}
	}
}

// submit queues a request for a worker; the loop then calls handleReply with
// the reply.
func (r *run) submit(q request) {
	a := r.applier
	r.Queue = append(r.Queue, loop.Task{
		Do: func(ctx context.Context) func() {
			answer := a.executeRequest(ctx, q)
			return func() { r.handleReply(answer) }
		},
		Started: func() { r.recordStarted(q) },
	})
}

// recordStarted records that a worker has started a request.
func (r *run) recordStarted(q request) {
	if q.op != opPatch || q.step < 0 {
		return
	}
	s := &r.steps[q.step]
	if s.sentAt.IsZero() {
		s.sentAt = time.Now()
	}
	if s.retryCause == nil {
		s.detail = "" // what it waited for is there
	}
}

// expectAnswer records that a request of a step is in flight or due.
func (r *run) expectAnswer(i int) {
	if s := &r.steps[i]; s.state == Applying && !s.requestPending {
		s.requestPending = true
		r.pendingRequests++
	}
}

// send queues a request for a step.
func (r *run) send(op op, i int) { r.sendRefused(op, i, nil) }

// sendRefused queues a request about the refusal of a step's PATCH.
func (r *run) sendRefused(op op, i int, refusal error) {
	q := r.requestOf(op, i)
	q.refusal = refusal
	r.expectAnswer(i)
	r.submit(q)
}

func (r *run) requestOf(op op, i int) request {
	s := &r.steps[i]
	return request{op: op, step: i, kind: s.kind, obj: s.manifest, schema: r.schemas[s.manifest.GroupVersionKind()], scaled: r.autoscaled[s.ID], immutableFields: s.immutableFields, options: kube.PatchOptions{
		Manager: r.applier.Manager, Force: s.force, DryRun: r.applier.DryRun,
	}}
}
