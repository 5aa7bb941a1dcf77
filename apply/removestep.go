package apply

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// release takes away one thing that a step waited for, and starts it when that
// was the last.
func (r *removal) release(i int) {
	if s := &r.steps[i]; !s.state.Final() {
		if s.blockers--; s.blockers == 0 {
			r.start(i)
		}
	}
}

// start deletes a step's object, unless it is not there or must stay.
func (r *removal) start(i int) {
	s := &r.steps[i]
	if s.live == nil {
		s.absent = true
		r.finish(i, Deleted, "it was not there")
		return
	}
	if why := r.stays(i); why != "" {
		r.finish(i, Kept, why)
		return
	}
	var served bool
	if s.kind, served = r.Cluster.Kind(s.live.GroupVersionKind()); !served {
		r.fail(i, Failed, errors.New("the API server does not serve "+s.live.GroupVersionKind().String()+", as which it was read"))
		return
	}
	s.sent = time.Now()
	r.move(i, Deleting, "")
	if s.live.GetDeletionTimestamp() != nil {
		r.accept(i)
		return
	}
	r.inspectAndDelete(i)
}

// inspectAndDelete deletes the object as it was last read. What takes other
// objects with it is looked into first.
func (r *removal) inspectAndDelete(i int) {
	if r.holdsOthers(i) {
		r.inspect(i)
		return
	}
	r.delete(i)
}

// delete asks for the deletion of the object as it was last read.
func (r *removal) delete(i int) {
	s := &r.steps[i]
	s.refusal = nil
	cluster, kind, id, live := r.Cluster, s.kind, s.ID, s.live
	options := DeleteOptions{Unchanged: true, Foreground: ownsOthers(s.ID), DryRun: r.DryRun}
	r.queue = append(r.queue, work{
		taken: func() { r.steps[i].asked = true },
		do: func(ctx context.Context) func() {
			err := r.Before(ctx, id)
			if err == nil {
				err = cluster.Delete(ctx, kind, live, options)
			}
			return func() { r.asked(i, err) }
		},
	})
}

// ownsOthers tells whether objects of a kind make others, which then go first:
// workloads, and custom resources, of which nothing is known. All others do not
// wait for the garbage collector.
func ownsOthers(id object.ID) bool {
	switch id.Group {
	case "apps", "batch":
		return true
	case "":
		return id.Kind == "ReplicationController"
	}
	return !object.OfKubernetes(id.Group)
}

// asked takes the answer to a DELETE.
func (r *removal) asked(i int, err error) {
	s := &r.steps[i]
	s.reached = s.reached || !notSent(err)
	s.asked = s.reached
	switch {
	case s.state.Final(): // a watch was faster, or its time is over
	case errors.Is(err, ErrFenced): // the run may no longer write: it ends now
		r.fencedOff(err)
	case err == nil && r.DryRun:
		r.finish(i, Deleted, "")
	case err == nil && r.goneAtOnce(i):
		r.gone(i)
	case err == nil:
		r.accept(i)
	case IsGone(err):
		r.gone(i)
	case notServed(err): // which proves nothing of the object
		r.confirm(i, err)
	case apierrors.IsConflict(err): // it has changed since it was read, or is another
		r.trouble(i, err, func() { r.look(i) })
	default:
		r.trouble(i, err, func() { r.delete(i) })
	}
}

// goneAtOnce tells whether an object that was deleted, as it was read, is gone
// with the answer: nothing held it, and nothing needs time to end.
func (r *removal) goneAtOnce(i int) bool {
	s := &r.steps[i]
	lingers := isCRD(s.ID) || s.ID.Group == "" && (s.ID.Kind == "Pod" || s.ID.Kind == "Namespace")
	return object.OfKubernetes(s.ID.Group) && !lingers && !ownsOthers(s.ID) && len(s.live.GetFinalizers()) == 0
}

// accept waits until an object that the API server deletes is gone.
func (r *removal) accept(i int) {
	s := &r.steps[i]
	if !s.accepted {
		s.accepted, s.answered = true, time.Now()
		r.pass(i)
	}
	if r.DryRun || r.NoWait {
		detail := ""
		if r.NoWait {
			detail = "its deletion is accepted and not waited for"
		}
		r.finish(i, Deleted, detail)
		return
	}
	if s.live.GetDeletionTimestamp() != nil {
		r.move(i, Deleting, waitsUntilGone(s.live))
	}
	r.watch(i)
}

// pass lets go of what waited until the deletion of a step's object was asked
// for, or until there was nothing to ask for.
func (r *removal) pass(i int) {
	s := &r.steps[i]
	if s.passed {
		return
	}
	s.passed = true
	r.waves[s.Wave].unasked--
	for _, n := range s.followers {
		r.release(n)
	}
}

// waitsUntilGone is what holds an object, as the detail of its state.
func waitsUntilGone(live *unstructured.Unstructured) string {
	return "waiting until it is gone" + HeldBy(live)
}

// gone ends a step as it should end.
func (r *removal) gone(i int) {
	if !r.steps[i].state.Final() {
		r.finish(i, Deleted, "")
	}
}

// look reads an object again.
func (r *removal) look(i int) {
	s := &r.steps[i]
	cluster, kind, id := r.Cluster, s.kind, s.ID
	r.enqueue(func(ctx context.Context) func() {
		live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
		return func() { r.looked(i, live, err) }
	})
}

// looked goes on with an object as it is now. What took its place under its name
// is never deleted.
func (r *removal) looked(i int, live *unstructured.Unstructured, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case IsGone(err):
		r.gone(i)
	case notServed(err):
		r.confirm(i, err)
	case err != nil && s.accepted: // a watch or the next look tells
		r.after(pollEvery, func() { r.lookAgain(i) })
	case err != nil:
		r.trouble(i, err, func() { r.look(i) })
	case live.GetUID() != s.live.GetUID() && s.accepted:
		r.gone(i)
	case live.GetUID() != s.live.GetUID():
		r.finish(i, Kept, "another object has taken its name since this run read what there is")
	case live.GetDeletionTimestamp() != nil:
		s.live = live
		r.accept(i)
	case s.accepted: // read before its deletion
		r.after(pollEvery, func() { r.lookAgain(i) })
	default:
		s.live = live
		if why := r.stays(i); why != "" {
			r.finish(i, Kept, why)
			return
		}
		r.inspectAndDelete(i)
	}
}

// lookAgain reads an object that is being deleted, if that still matters.
func (r *removal) lookAgain(i int) {
	if !r.steps[i].state.Final() {
		r.look(i)
	}
}

// trouble tries something again after a pause, as long as the cause of its
// failure may pass, then fails the step.
func (r *removal) trouble(i int, cause error, again func()) {
	s := &r.steps[i]
	cause = withoutSecrets(s.live, cause)
	if s.retries++; s.retries == 1 {
		s.troubled = time.Now()
	}
	pause := max(backoff(r.ctx(), s.retries), retryAfter(cause))
	if r.stopping || time.Since(s.troubled)+pause > patience(cause) {
		r.fail(i, Failed, afterAttempts(explainDeletion(cause), s.retries, s.troubled))
		return
	}
	s.refusal = cause
	reportRetry(r.ctx(), Retry{Of: "delete " + s.ID.String(), Attempt: s.retries, Pause: pause, Cause: inWords(cause)})
	detail := "will be tried again: " + inWords(cause).Error()
	if apierrors.IsConflict(cause) {
		detail = "it has changed since it was read; it is read again"
	}
	r.move(i, Deleting, detail)
	r.after(pause, func() {
		if !r.steps[i].state.Final() {
			again()
		}
	})
}

// move records a step's state and tells about it when it says something new.
func (r *removal) move(i int, state State, detail string) {
	s := &r.steps[i]
	if s.state == state && (s.detail == detail || detail == "") {
		return
	}
	s.state, s.detail = state, detail
	r.emit(Event{Op: OpDelete, ID: s.ID, Wave: s.Wave, State: state, Unchanged: s.absent, Detail: detail, Err: s.err})
}

// finish moves a step to a final state.
func (r *removal) finish(i int, state State, detail string) {
	s := &r.steps[i]
	s.done = time.Now()
	r.waves[s.Wave].unsettled--
	r.move(i, state, detail)
	r.unwatch(i)
	switch {
	case state == Deleted, state == Kept:
		r.pass(i)
	case !s.passed:
		s.passed = true
		r.waves[s.Wave].unasked--
	}
}

// fail ends a step without success, and skips those of its wave whose requests
// wait for its own.
func (r *removal) fail(i int, state State, cause error) {
	s := &r.steps[i]
	r.failures++
	s.err = &Error{Wave: r.plan.WaveTitle(r.first + s.Wave), Op: OpDelete, ID: s.ID, Err: cause}
	passed := s.passed
	r.finish(i, state, cause.Error())
	if passed {
		return
	}
	for _, n := range s.followers {
		r.skip(n, "it is not deleted before "+s.ID.String()+", which could not be deleted")
	}
}

// skip ends a step, and those that wait for it, because of another's failure.
func (r *removal) skip(i int, why string) {
	if r.steps[i].state.Final() {
		return
	}
	r.finish(i, Skipped, why)
	for _, n := range r.steps[i].followers {
		r.skip(n, why)
	}
}

// timeOut ends a step because its time is over.
func (r *removal) timeOut(i int, after time.Duration, scope string) {
	s := &r.steps[i]
	e := &TimeoutError{After: after, Scope: scope, Last: r.reach.stale(waitsUntilGone(s.live)), Deletion: true, Unapplied: !s.accepted}
	if !s.accepted {
		e.Last = r.undeletedBecause(i)
	}
	r.fail(i, TimedOut, e)
}

// undeletedBecause says what keeps the API server from deleting a step's object.
func (r *removal) undeletedBecause(i int) string {
	switch s := &r.steps[i]; {
	case s.refusal != nil:
		return explainDeletion(s.refusal).Error()
	case s.detail != "":
		return s.detail
	}
	return "its DELETE was sent, and the API server has not answered it"
}

func (r *removal) emit(e Event) {
	e.Time = time.Now()
	e.Wave += r.first
	r.Events(e)
}
