package apply

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/internal/sending"
	"github.com/ordapply/ordapply/kube"
)

// request is a request about a step.
type request struct {
	sending.Request
	step int
}

// reply is the answer to a request.
type reply struct {
	request
	live *unstructured.Unstructured
	err  error
}

// handleReply handles a reply.
func (r *run) handleReply(answer reply) {
	r.recordSent(answer)
	switch {
	case errors.Is(answer.err, kube.ErrFenced): // the run may no longer write: it ends now
		r.steps[answer.step].retryCause = cmp.Or(kube.Late(answer.err), r.steps[answer.step].retryCause)
		r.FencedOff(answer.err)
	case r.steps[answer.step].state.Final():
	case answer.Op == sending.Get:
		r.handleRead(answer)
	case answer.Op == sending.Delete:
		r.handleRecreateDelete(answer)
	case answer.Op == sending.Migrate:
		r.migrated(answer)
	case answer.err != nil:
		r.retryOrFail(answer.step, answer)
	default:
		r.applied(answer.step, answer.live)
	}
}

// recordSent records whether a failed PATCH may have reached the API server.
func (r *run) recordSent(answer reply) {
	if answer.Op != sending.Patch || answer.err == nil {
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
	sender := r.applier.sender()
	r.Queue = append(r.Queue, loop.Task{
		Do: func(ctx context.Context) func() {
			live, err := sender.Send(ctx, q.Request)
			return func() { r.handleReply(reply{q, live, err}) }
		},
		Started: func() { r.recordStarted(q) },
	})
}

// recordStarted records that a worker has started a request.
func (r *run) recordStarted(q request) {
	if q.Op != sending.Patch {
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
func (r *run) send(op sending.Op, i int) { r.sendRefused(op, i, nil) }

// sendRefused queues a request about the refusal of a step's PATCH.
func (r *run) sendRefused(op sending.Op, i int, refusal error) {
	q := r.requestOf(op, i)
	q.Refusal = refusal
	r.expectAnswer(i)
	r.submit(q)
}

func (r *run) requestOf(op sending.Op, i int) request {
	s := &r.steps[i]
	return request{step: i, Request: sending.Request{
		Op: op, Kind: s.kind, Object: s.manifest, Bodies: r.snapshot.Bodies, ImmutableFields: s.immutableFields,
		Options: kube.PatchOptions{Manager: r.applier.Manager, Force: s.force, DryRun: r.applier.DryRun},
	}}
}

// sendFirst sends the first PATCH of a step.
func (r *run) sendFirst(i int) {
	q := r.requestOf(sending.Patch, i)
	if !r.applier.DryRun {
		q.Precondition = r.steps[i].before
	}
	r.expectAnswer(i)
	r.submit(q)
}
