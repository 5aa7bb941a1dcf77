package apply

import (
	"cmp"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
)

// handleReply handles a reply.
func (r *run) handleReply(answer request.Reply) {
	r.recordSent(answer)
	switch {
	case errors.Is(answer.Err, kube.ErrFenced): // the run may no longer write: it ends now
		r.steps[answer.Step].Cause = cmp.Or(kube.Late(answer.Err), r.steps[answer.Step].Cause)
		r.FencedOff(answer.Err)
	case r.steps[answer.Step].state.Final():
	case answer.Op == request.Get:
		r.handleRead(answer)
	case answer.Op == request.Recreate:
		r.handleRecreation(answer)
	case answer.Op == request.Migrate:
		r.handleTakeover(answer)
	case answer.Err != nil:
		r.retryOrFail(answer.Step, answer)
	default:
		r.steps[answer.Step].owners.Agreeing = answer.Agreeing
		r.applied(answer.Step, answer.Live)
	}
}

// handleTakeover sends the PATCH that removes fields that the manifest does not have. A failed
// takeover after the PATCH is tried again by the next run.
func (r *run) handleTakeover(answer request.Reply) {
	i := answer.Step
	if answer.Err != nil && answer.BeforePatch {
		r.retryOrFail(i, answer)
		return
	}
	s := &r.steps[i]
	s.migrationTried, s.owners.TakenFrom = true, append(s.owners.TakenFrom, answer.TakenFrom...)
	r.send(request.Patch, i)
}

// recordSent records whether a failed PATCH may have reached the API server.
func (r *run) recordSent(answer request.Reply) {
	if answer.Op != request.Patch || answer.Err == nil {
		return
	}
	s := &r.steps[answer.Step]
	if s.patch.Answered(answer.Err); s.patch == loop.NotSent {
		s.sentAt = time.Time{}
	}
}

// recordStarted records that a worker has started a request.
func (r *run) recordStarted(op request.Op, i int) {
	if op != request.Patch {
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
func (r *run) handleRead(answer request.Reply) {
	i := answer.Step
	switch s := &r.steps[i]; {
	case s.phase == readingOld:
		r.handleTerminating(answer)
	case s.phase == readingKept:
		r.handleKept(answer)
	case answer.Err != nil && !fault.IsMissing(answer.Err):
		if !r.watches.IsPolled(i) { // otherwise polling reads it again anyway
			r.After(loop.PollEvery, func() { r.readAgain(i) })
		}
	case fault.IsMissing(answer.Err), answer.Err == nil && string(answer.Live.GetUID()) != r.steps[i].applied.UID:
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
func (r *run) handleTerminating(answer request.Reply) {
	i := answer.Step
	if fault.IsMissing(answer.Err) || answer.Err == nil && answer.Live.GetDeletionTimestamp() == nil {
		r.handleGone(i)
		return
	}
	if answer.Err != nil {
		r.retryOrFail(i, answer)
		return
	}
	r.steps[i].applied = request.Identity{UID: string(answer.Live.GetUID())}
	r.updateWatchLabel(i, answer.Live)
	r.awaitDeletion(i, answer.Live)
}
