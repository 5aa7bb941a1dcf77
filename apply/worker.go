package apply

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// op is what a request does.
type op int

const (
	opPatch      op = iota // server-side apply of obj
	opDiscover             // ask discovery for a group-version
	opGet                  // read the live object, to see whether it is still there
	opDelete               // delete the live object, and give back what it was
	opEndpoints            // see whether a Service has a ready endpoint
	opLook                 // read the object id, which is not of the stream
	opRepair               // make ours what blocks a PATCH, and send it again
	opMigrate              // take over what predecessors own on the live object
	opDefinition           // read the CustomResourceDefinition id
	opMaker                // find the ReplicaSet that a Deployment is rolling out
)

// request is one piece of work for a worker. It holds all that it needs:
// workers see nothing of the run's state.
type request struct {
	op        op
	step      int // -1 when it is for no one step
	kind      Kind
	obj       *unstructured.Unstructured // as the author wrote it
	fields    map[string]any             // the schema of its kind, nil when it is not known
	scaled    bool                       // a controller sets its replicas
	fixed     []string                   // why opDelete deletes it: fields that cannot be changed
	options   PatchOptions
	read      identity // of the object that opPatch must find as it was read; zero: any
	discover  schema.GroupVersion
	namespace string    // the Namespace to get, when step is -1
	refusal   error     // that opRepair is about
	id        object.ID // of what opEndpoints, opLook and opDefinition are about
}

type reply struct {
	request
	live  *unstructured.Unstructured
	found bool // a ready endpoint
	err   error
}

// answer carries out a request.
func (a Applier) answer(ctx context.Context, q request) reply {
	answer := reply{request: q}
	if q.op == opEndpoints {
		answer.found, answer.err = a.Cluster.HasEndpoints(ctx, q.id)
	} else {
		answer.live, answer.err = a.do(ctx, q)
	}
	return answer
}

func (a Applier) do(ctx context.Context, q request) (*unstructured.Unstructured, error) {
	switch q.op {
	case opDiscover:
		return nil, a.Cluster.Refresh(ctx, q.discover)
	case opGet:
		if q.step < 0 {
			return a.Cluster.Get(ctx, q.kind, "", q.namespace)
		}
		return a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
	case opLook, opDefinition:
		return a.Cluster.Get(ctx, q.kind, q.id.Namespace, q.id.Name)
	case opDelete:
		live, err := a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
		if err != nil {
			return nil, err
		}
		if err := a.mayNotRecreate(q.obj, live, q.fixed); err != nil {
			return nil, recreateError{err}
		}
		return live, a.Cluster.Delete(ctx, q.kind, live, DeleteOptions{Unchanged: true, Foreground: true}) // a Job made anew must not meet the Pods of the old one
	case opMaker:
		return a.makerOf(ctx, q.obj), nil
	case opMigrate:
		live, err := a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
		if err != nil {
			return nil, err
		}
		return nil, a.Cluster.Migrate(ctx, q.kind, live, a.bequeathing(live), q.options.Manager)
	}
	sent := desired(q.obj, q.fields, q.scaled)
	a.Membership.label(sent)
	if err := mark(sent); err != nil {
		return nil, err
	}
	if q.op == opRepair {
		return a.unblock(ctx, q, sent)
	}
	return a.patchAsRead(ctx, q, sent)
}

// take goes on with what a reply is for.
func (r *run) take(answer reply) {
	r.noteSent(answer)
	switch {
	case errors.Is(answer.err, ErrFenced): // the run may no longer write: it ends now
		r.fencedOff(answer.err)
	case answer.op == opDiscover:
		r.discovered(answer.discover) // an error shows as kinds that stay unserved
	case answer.op == opLook:
		r.lookedOutside(answer)
	case answer.op == opEndpoints:
		r.foundEndpoints(answer)
	case answer.op == opDefinition:
		r.learned(answer)
	case answer.step < 0:
		r.foundNamespace(answer)
	case r.steps[answer.step].state.Final():
	case answer.op == opGet:
		r.looked(answer)
	case answer.op == opMaker:
		r.foundMaker(answer.step, answer.live)
	case answer.op == opDelete:
		r.deleted(answer)
	case answer.op == opMigrate:
		r.migrated(answer)
	case answer.err != nil:
		r.trouble(answer.step, answer)
	default:
		r.applied(answer.step, answer.live)
	}
}

// noteSent notes whether a PATCH that failed may have reached the API server.
func (r *run) noteSent(answer reply) {
	if answer.op != opPatch || answer.step < 0 || answer.err == nil {
		return
	}
	s := &r.steps[answer.step]
	if s.reached = s.reached || !notSent(answer.err); !s.reached {
		s.sent = time.Time{}
	}
}

// hand lets a worker carry out a request, and goes on with the answer.
func (r *run) hand(q request) {
	a := r.a
	r.queue = append(r.queue, work{
		do: func(ctx context.Context) func() {
			answer := a.answer(ctx, q)
			return func() { r.take(answer) }
		},
		taken: func() { r.handedOut(q) },
	})
}

// handedOut notes that a worker has a request now.
func (r *run) handedOut(q request) {
	if q.op != opPatch || q.step < 0 {
		return
	}
	s := &r.steps[q.step]
	if s.sent.IsZero() {
		s.sent = time.Now()
	}
	if s.refusal == nil {
		s.detail = "" // what it waited for before is there
	}
}

// expectAnswer notes that a request of a step's is out or due.
func (r *run) expectAnswer(i int) {
	if s := &r.steps[i]; s.state == Applying && !s.asked {
		s.asked = true
		r.asked++
	}
}

// send lets a worker do something for a step.
func (r *run) send(op op, i int) { r.sendRefused(op, i, nil) }

// sendRefused is send about a PATCH that was refused.
func (r *run) sendRefused(op op, i int, refusal error) {
	q := r.requestOf(op, i)
	q.refusal = refusal
	r.expectAnswer(i)
	r.hand(q)
}

func (r *run) requestOf(op op, i int) request {
	s := &r.steps[i]
	return request{op: op, step: i, kind: s.kind, obj: s.obj, fields: r.schemas[s.obj.GroupVersionKind()], scaled: r.scaled[s.ID], fixed: s.fixed, options: PatchOptions{
		Manager: r.a.Manager, Force: s.forced, DryRun: r.a.DryRun,
	}}
}
