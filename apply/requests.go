package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
)

// kind returns how a kind is served, without a version in the version that
// the API server prefers.
func (r *run) kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	return kube.KindsOf(r.applier.Cluster)(gvk)
}

// expectAnswer records that a request of a step is in flight or due.
func (r *run) expectAnswer(i int) {
	if s := &r.steps[i]; s.state == event.Applying && !s.requestPending {
		s.requestPending = true
		r.pendingRequests++
	}
}

// endRequest records that a step waits for something else than the answer to a request.
func (r *run) endRequest(i int) {
	if s := &r.steps[i]; s.requestPending {
		s.requestPending = false
		r.pendingRequests--
	}
}

// reply is the answer to a request about a step.
type reply struct {
	request.Request
	request.Answer
	step int
	err  error
}

// submit queues a request of a step for a worker.
func (r *run) submit(i int, q request.Request) {
	r.expectAnswer(i)
	sender := &r.sender // it does not change
	r.Queue = append(r.Queue, loop.Task{
		Do: func(ctx context.Context) func() {
			answer, err := sender.Send(ctx, q)
			return func() { r.handleReply(reply{q, answer, i, err}) }
		},
		Started:   func() { r.recordStarted(q.Op, i) },
		Obsolete:  func() bool { return r.steps[i].state.Final() && !q.Completes },
		Completes: q.Completes,
	})
}

// send queues a request for a step.
func (r *run) send(op request.Op, i int) { r.sendRefused(op, i, nil) }

// sendRefused queues a request about the refusal of a step's PATCH.
func (r *run) sendRefused(op request.Op, i int, refusal error) {
	q := r.requestOf(op, i)
	q.Refusal = refusal
	r.submit(i, q)
}

func (r *run) requestOf(op request.Op, i int) request.Request {
	s := &r.steps[i]
	return request.Request{
		Op: op, Kind: s.kind, Object: s.manifest, Bodies: r.snapshot.Bodies, Completes: s.isHalfRecreated(),
		Options: kube.PatchOptions{Manager: r.applier.Manager, Force: s.force, DryRun: r.applier.DryRun},
	}
}

// takeOver takes over fields that other managers own on a live object. The next PATCH removes
// the fields that the manifest does not have.
func (r *run) takeOver(i int, live *unstructured.Unstructured, beforePatch bool) {
	r.move(i, event.Applying, "taking over fields of another manager")
	q := r.requestOf(request.Migrate, i)
	q.Seen, q.BeforePatch = live, beforePatch
	r.submit(i, q)
}

// sendFirst sends the first PATCH of a step.
func (r *run) sendFirst(i int) {
	s := &r.steps[i]
	if s.takesOver && !r.applier.DryRun {
		live, joining := s.takenOver, s.joining
		s.takesOver, s.takenOver, s.joining = false, nil, nil
		if joining != nil {
			q := r.requestOf(request.Join, i)
			q.Joining = joining
			r.submit(i, q)
			return
		}
		r.takeOver(i, live, true)
		return
	}
	q := r.requestOf(request.Patch, i)
	q.Known, q.Current = s.read.Known && (s.live != nil || s.before == request.Identity{}), s.live
	s.live = nil
	if !r.applier.DryRun {
		q.Precondition = s.before
	}
	r.submit(i, q)
}
