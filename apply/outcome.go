package apply

import (
	"cmp"
	"slices"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/ordering"
)

// pass records that the wave by which a step must be ready waits for it no
// longer.
func (r *run) pass(i int) {
	if s := &r.steps[i]; !s.gatePassed {
		s.gatePassed = true
		r.waves[s.ReadyBy].gatesPending--
	}
}

// deferred ends a step of a dry run that depends on objects that the dry run
// does not create.
func (r *run) deferred(i int, why string) { r.finishDryRun(i, event.Deferred, why) }

// finishDryRun ends a step of a dry run, and starts its dependents.
func (r *run) finishDryRun(i int, state event.State, detail string) {
	r.finish(i, state, detail)
	r.pass(i)
	r.onGatePassed(i, ordering.Applied)
	r.passStarted(i)
	r.onGatePassed(i, ordering.Ready)
}

// finishReady ends a step with success and starts its dependents. why is the reason
// where readiness is assumed.
func (r *run) finishReady(i int, why string) {
	r.recordCRDProgress(i)
	if !r.steps[i].fromRead {
		r.invalidateReads()
	}
	r.finish(i, event.Ready, cmp.Or(why, r.steps[i].kept))
	r.pass(i)
	r.passStarted(i)
	r.onGatePassed(i, ordering.Ready)
}

// move records a step's state and emits an event when it is new. Without a detail, one about
// the same state is kept.
func (r *run) move(i int, state event.State, detail string) { r.wait(i, state, event.WaitNone, detail) }

// wait is move for a step that waits.
func (r *run) wait(i int, state event.State, reason event.WaitReason, detail string) {
	s := &r.steps[i]
	if secrets := r.secretsOf(i); len(secrets) > 0 {
		detail = redact.NewReplacer(secrets).Line(detail)
	}
	if s.state == state && (s.detail == detail || detail == "") {
		return
	}
	if s.state != state {
		r.moved()
		r.endRequest(i)
		r.setInGrace(i, false)
		r.waves[s.Wave].shift(s.state, state)
		switch {
		case isActive(state) && !isActive(s.state):
			r.clocks.Start(i)
		case isActive(s.state) && !isActive(state):
			r.clocks.Stop(i)
		}
	}
	if state.Final() {
		r.unfinished--
	}
	op := opOf(s.state, state)
	s.state, s.reason, s.detail = state, reason, detail
	r.emit(event.Event{Op: op, ID: s.ID, Layer: s.Layer, Wave: s.Wave, State: state, Change: event.Change{Unchanged: s.unchanged, Created: s.origin.Created != "" || slices.Contains(r.applier.Sent, s.ID)}, Assumed: s.assumed && state == event.Ready, Health: s.grade, Detail: detail, Err: s.err})
}

// finish moves a step to a final state.
func (r *run) finish(i int, state event.State, detail string) {
	r.leave(i, state, event.WaitNone, detail)
}

// leave is finish for a step that still waits for something.
func (r *run) leave(i int, state event.State, reason event.WaitReason, detail string) {
	s := &r.steps[i]
	s.doneAt = time.Now()
	if state.Succeeded() {
		s.lastSeen = nil
	}
	r.wait(i, state, reason, detail)
}

// fail ends a step with an error, and skips its dependents.
func (r *run) fail(i int, state event.State, cause error) {
	s := &r.steps[i]
	applied := s.state == event.Waiting
	passed := r.passedBy(i)
	cause = redact.Without(cause, r.secretsOf(i))
	s.err = &event.Error{Wave: r.plan.WaveTitle(s.Wave), Op: opOf(s.state, state), ID: s.ID, Err: cause}
	r.finish(i, state, cause.Error())
	if r.applier.KeepGoing && !applied && state == event.Failed {
		r.goOnWithout(i)
		return
	}
	r.failures++
	r.skipDependents(i, passed)
}

// failTimeout ends a step because a timeout expired.
func (r *run) failTimeout(i int, after time.Duration, scope string) {
	s := &r.steps[i]
	if s.state == event.Waiting && r.mayLeaveOpen(i) {
		r.leaveOpen(i)
		return
	}
	e := &event.TimeoutError{After: after, Scope: scope, Last: r.lastDetail(i), NotApplied: s.state != event.Waiting}
	if e.NotApplied {
		e.Last = r.notAppliedReason(i)
	}
	if s.isHalfRecreated() && s.overdue == nil && r.EndedBy == 0 {
		s.overdue = e
		r.After(loop.ShutdownGrace, func() { r.failOverdue(i) })
		return
	}
	r.fail(i, event.TimedOut, e)
}

// failOverdue ends a step whose timeout expired while its object was being recreated. It had
// some time to complete that.
func (r *run) failOverdue(i int) {
	if s := &r.steps[i]; s.overdue != nil && !s.state.Final() {
		if s.isHalfRecreated() {
			s.overdue.Last = r.notAppliedReason(i)
		}
		r.fail(i, event.TimedOut, s.overdue)
	}
}

// notAppliedReason returns why a step is not applied.
func (r *run) notAppliedReason(i int) string {
	switch s := &r.steps[i]; {
	case s.isHalfRecreated():
		return "its old object was deleted to recreate it, and the new one is not applied yet (" + r.lastDetail(i) + "): run this again"
	case s.Cause != nil:
		return write.ExplainInvalid(s.Cause, r.byID.HasNamespace).Error()
	case r.kindWaiter.IsWaiting(i) && len(s.External) == 0 && len(s.ProvidedBy) == 0:
		return wait.Unserved(r.applier.Cluster, s.manifest.GroupVersionKind(), "").Error()
	case s.detail != "":
		return r.lastDetail(i)
	case s.patch == loop.NotSent:
		return "its PATCH was not sent yet"
	}
	return "its PATCH was sent, and the API server has not answered it"
}

// skipDependents skips the direct and indirect dependents of step i, which
// failed. Dependents that waited only for it to be applied are started if it was.
func (r *run) skipDependents(i int, passed func(ordering.Gate) bool) {
	why := "it needs " + r.steps[i].ID.String() + ", which " + r.steps[i].outcomeInWords()
	r.order.EachBlocked(i, passed, func(node int) bool {
		if node < len(r.steps) {
			if r.steps[node].state != event.Pending {
				return false
			}
			r.finish(node, event.Skipped, why)
		}
		return true
	})
}

// outcomeInWords describes the outcome of a step that others depend on.
func (s *step) outcomeInWords() string {
	switch {
	case s.state == event.TimedOut:
		return "was not ready in time"
	case s.answeredAt.IsZero():
		return "could not be applied"
	}
	return "failed"
}

// lastDetail returns the last known detail of a step that is given up, and why
// there is nothing newer.
func (r *run) lastDetail(i int) string {
	s := &r.steps[i]
	if r.podWatcher.Problem(i) != "" && s.state == event.Waiting { // the diagnosis says more about that
		return r.Outages.LastDetail(i, s.unready)
	}
	return r.Outages.LastDetail(i, s.detail)
}

// moved records that something happened.
func (r *run) moved() {
	if r.still != nil {
		r.still.Moved(time.Now())
	}
}

func (r *run) emit(e event.Event) {
	e.Time = time.Now()
	r.applier.Events(e)
}

// isActive reports whether a resource in this state is being applied or waited for.
func isActive(state event.State) bool { return state == event.Applying || state == event.Waiting }

// opOf returns the operation that a transition between two states belongs to.
func opOf(from, to event.State) event.Op {
	if from == event.Waiting || to == event.Waiting || to == event.Ready {
		return event.OpWait
	}
	return event.OpApply
}
