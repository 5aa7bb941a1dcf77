package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/sending"
	"github.com/ordapply/ordapply/kube"
)

// kind returns how a kind is served, without a version in the version that
// the API server prefers.
func (r *run) kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	return kube.KindsOf(r.applier.Cluster)(gvk)
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
	r.requests.Submit(i, q)
}

func (r *run) requestOf(op sending.Op, i int) sending.Request {
	s := &r.steps[i]
	return sending.Request{
		Op: op, Kind: s.kind, Object: s.manifest, Bodies: r.snapshot.Bodies, ImmutableFields: s.immutableFields,
		Options: kube.PatchOptions{Manager: r.applier.Manager, Force: s.force, DryRun: r.applier.DryRun},
	}
}

// sendFirst sends the first PATCH of a step.
func (r *run) sendFirst(i int) {
	q := r.requestOf(sending.Patch, i)
	if !r.applier.DryRun {
		q.Precondition = r.steps[i].before
	}
	r.expectAnswer(i)
	r.requests.Submit(i, q)
}
