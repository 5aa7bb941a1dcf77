package apply

import (
	"cmp"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
)

// handleReply handles a reply.
func (r *run) handleReply(answer reply) {
	r.recordSent(answer)
	switch {
	case errors.Is(answer.err, kube.ErrFenced): // the run may no longer write: it ends now
		r.steps[answer.step].Cause = cmp.Or(kube.Late(answer.err), r.steps[answer.step].Cause)
		r.FencedOff(answer.err)
	case r.steps[answer.step].state.Final():
	case answer.Op == request.Get:
		r.handleRead(answer)
	case answer.Op == request.Recreate:
		r.handleRecreation(answer)
	case answer.Op == request.Migrate:
		r.handleTakeover(answer)
	case answer.Op == request.Join && answer.err != nil && mayDiffer(answer.err):
		r.takeOver(answer.step, nil, true)
	case answer.err != nil:
		r.retryOrFail(answer.step, answer)
	default:
		r.recordAgreeing(answer)
		r.applied(answer.step, answer.Live)
	}
}

// recordAgreeing records the managers in conflict whose fields keep their values.
func (r *run) recordAgreeing(answer reply) {
	if s := &r.steps[answer.step]; s.managers != nil || len(answer.Agreeing) > 0 {
		s.ofManagers().owners.Agreeing = answer.Agreeing
	}
}

// mayDiffer reports whether an object that was to join the set is perhaps no longer as it was read:
// it is taken over and applied as any other. An admission plugin denies that too.
func mayDiffer(err error) bool {
	return (apierrors.IsConflict(err) || fault.RetryBudget(err) == 0) && !fault.IsDenied(err)
}

// handleTakeover sends the PATCH that removes fields that the manifest does not have. A failed
// takeover after the PATCH is tried again by the next run.
func (r *run) handleTakeover(answer reply) {
	i := answer.step
	if answer.err != nil && answer.BeforePatch {
		r.retryOrFail(i, answer)
		return
	}
	s := &r.steps[i]
	m := s.ofManagers()
	s.migrationTried, m.owners.TakenFrom = true, append(m.owners.TakenFrom, answer.TakenFrom...)
	r.send(request.Patch, i)
}

// recordSent records whether a failed PATCH may have reached the API server.
func (r *run) recordSent(answer reply) {
	if answer.Op != request.Patch && answer.Op != request.Join || answer.err == nil {
		return
	}
	s := &r.steps[answer.step]
	if s.patch.Answered(answer.err); s.patch == loop.NotSent {
		s.sentAt = time.Time{}
	}
}

// recordStarted records that a worker has started a request.
func (r *run) recordStarted(op request.Op, i int) {
	if op != request.Patch && op != request.Join {
		return
	}
	s := &r.steps[i]
	if s.patch == loop.NotSent {
		s.sentAt = time.Now()
	}
	s.patch.Start()
	if s.Cause == nil {
		s.reason, s.detail = event.WaitNone, "" // the wait is over
	}
}

// handleRead handles the read of an object that a list did not contain or that a
// watch no longer reports.
func (r *run) handleRead(answer reply) {
	i := answer.step
	switch s := &r.steps[i]; {
	case s.phase == readingOld:
		r.handleTerminating(answer)
	case s.phase == readingKept:
		r.handleKept(answer)
	case answer.err != nil && !fault.IsMissing(answer.err):
		if !r.watches.IsPolled(i) { // otherwise polling reads it again anyway
			r.After(loop.PollEvery, func() { r.readAgain(i) })
		}
	case fault.IsMissing(answer.err), answer.err == nil && string(answer.Live.GetUID()) != r.steps[i].applied.UID:
		r.handleGone(i)
	default:
		r.handleStillExists(i, answer.Live)
	}
}

// handleStillExists handles an object that still exists, and switches to another
// watch when it no longer carries the set's label.
func (r *run) handleStillExists(i int, live *unstructured.Unstructured) {
	r.updateWatchLabel(i, live)
	if r.steps[i].state == event.Waiting {
		r.evaluate(i, live)
	}
	if r.steps[i].isAwaited() {
		r.watches.Follow(i)
	}
}

// handleTerminating waits until the terminating object is gone, if it is not
// gone already.
func (r *run) handleTerminating(answer reply) {
	i := answer.step
	if fault.IsMissing(answer.err) || answer.err == nil && answer.Live.GetDeletionTimestamp() == nil {
		r.handleGone(i)
		return
	}
	if answer.err != nil {
		r.retryOrFail(i, answer)
		return
	}
	r.steps[i].applied = request.Identity{UID: string(answer.Live.GetUID())}
	r.updateWatchLabel(i, answer.Live)
	r.awaitDeletion(i, answer.Live)
}
