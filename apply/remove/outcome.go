package remove

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// release ends one wait of a step, and starts it after the last, once the current event is
// handled.
func (r *removal) release(i int) {
	if r.order.Release(i) {
		r.toStart.Add(i)
	}
}

// deletionDetail describes the blockers of an object's deletion. The finalizer of a deletion in
// foreground is this run's own.
func deletionDetail(live *unstructured.Unstructured) string {
	if names := live.GetFinalizers(); len(names) == 1 && names[0] == metav1.FinalizerDeleteDependents {
		return "waiting until it and its dependents are gone"
	}
	return "waiting until it is gone" + kube.DeletionBlockers(live)
}

// handleGone ends a step with success.
func (r *removal) handleGone(i int) {
	if !r.steps[i].state.Final() {
		r.finish(i, event.Deleted, "")
	}
}

// retryOrFail retries with backoff as long as the failure may be transient, then
// fails the step.
func (r *removal) retryOrFail(i int, cause error, again func()) {
	s := &r.steps[i]
	cause = redact.Error(s.live, cause)
	pause := s.Fail(cause)
	if r.Stopping || s.Last(pause, fault.RetryBudget(cause)) {
		r.fail(i, event.Failed, s.Attempts.Final(explainDeletion(cause)))
		return
	}
	detail := s.Retry(r.Ctx(), "delete "+s.ID.String(), cause, pause)
	if apierrors.IsConflict(cause) {
		detail = "it has changed since it was read; reading it again"
	}
	r.move(i, event.Deleting, detail)
	r.After(pause, func() {
		if !r.steps[i].state.Final() {
			again()
		}
	})
}

// move records a step's state and emits an event when it is new.
func (r *removal) move(i int, state event.State, detail string) {
	s := &r.steps[i]
	if s.state == state && (s.detail == detail || detail == "") {
		return
	}
	s.state, s.detail = state, detail
	r.emit(event.Event{Op: event.OpDelete, ID: s.ID, Wave: s.Wave, State: state, Change: event.Change{Unchanged: s.absent}, Detail: detail, Err: s.err})
}

// finish moves a step to a final state.
func (r *removal) finish(i int, state event.State, detail string) {
	s := &r.steps[i]
	s.doneAt = time.Now()
	r.waves[s.Wave].unfinished--
	r.move(i, state, detail)
	r.watches.Unfollow(i)
	if !s.request.accepted() {
		r.settle(i, state == event.Deleted || state == event.Kept)
	}
}

// settle records that nothing waits for the DELETE of a step any longer: it was accepted, is not
// needed, or was given up. The steps that waited for it are released where it succeeded.
func (r *removal) settle(i int, succeeded bool) {
	r.waves[r.steps[i].Wave].deletesPending--
	if succeeded {
		for _, e := range r.order.From(i) {
			r.release(e.To)
		}
	}
}

// fail ends a step with an error, and skips the steps whose requests wait for
// its own.
func (r *removal) fail(i int, state event.State, cause error) {
	s := &r.steps[i]
	r.failures++
	s.err = &event.Error{Wave: r.plan.WaveTitle(r.first + s.Wave), Op: event.OpDelete, ID: s.ID, Err: cause}
	r.finish(i, state, cause.Error())
	why := "it must be deleted after " + s.ID.String() + ", which could not be deleted"
	r.order.EachBlocked(i, func(g ordering.Gate) bool { return g == ordering.Applied && s.request.accepted() }, func(n int) bool {
		if r.steps[n].state.Final() {
			return false
		}
		r.finish(n, event.Skipped, why)
		return true
	})
}

// failTimeout ends a step because a timeout expired.
func (r *removal) failTimeout(i int, after time.Duration, scope string) {
	s := &r.steps[i]
	e := &event.TimeoutError{After: after, Scope: scope, Last: r.Outages.WithOutage(deletionDetail(s.live)), Deletion: true, NotApplied: !s.request.accepted()}
	if !s.request.accepted() {
		e.Last = r.notDeletedReason(i)
	}
	r.fail(i, event.TimedOut, e)
}

// notDeletedReason returns why the API server has not accepted the deletion
// of a step's object.
func (r *removal) notDeletedReason(i int) string {
	switch s := &r.steps[i]; {
	case s.Cause != nil:
		return explainDeletion(s.Cause).Error()
	case s.request.inspecting:
		return "its contents could not be read in time; no DELETE was sent"
	case s.detail != "":
		return s.detail
	}
	return "its DELETE was sent, and the API server has not answered it"
}

func (r *removal) emit(e event.Event) {
	e.Time = time.Now()
	e.Wave += r.first
	r.Events(e)
}

// firstAwaited returns the first step whose deletion is waited for.
func (r *removal) firstAwaited() (i int, found bool) {
	for i := range r.steps {
		if s := &r.steps[i]; s.state == event.Deleting && s.request.accepted() {
			return i, true
		}
	}
	return 0, false
}

// awaitedDetail returns the detail of a step; false when its object is gone.
func (r *removal) awaitedDetail(i int) (detail string, waits bool) {
	return r.steps[i].detail, r.steps[i].state == event.Deleting
}
