package removal

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/internal/redact"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/progress"
)

// release removes one blocker of a step, and starts it when that was the
// last.
func (r *removal) release(i int) {
	if s := &r.steps[i]; !s.state.Final() {
		if s.waitCount--; s.waitCount == 0 {
			r.start(i)
		}
	}
}

// start deletes a step's object, unless it does not exist or must be kept.
func (r *removal) start(i int) {
	s := &r.steps[i]
	if s.live == nil {
		s.absent = true
		r.finish(i, progress.Deleted, "it did not exist")
		return
	}
	if why := r.keptBecause(i); why != "" {
		r.finish(i, progress.Kept, why)
		return
	}
	var served bool
	if s.kind, served = r.Cluster.Kind(s.live.GroupVersionKind()); !served {
		r.fail(i, progress.Failed, progress.WithCode(progress.CodeNotServed, errors.New("the API server does not serve "+s.live.GroupVersionKind().String()+", the version in which it was read")))
		return
	}
	s.sentAt = time.Now()
	r.move(i, progress.Deleting, "")
	if s.live.GetDeletionTimestamp() != nil {
		r.handleAccepted(i)
		return
	}
	r.inspectAndDelete(i)
}

// inspectAndDelete deletes the object as it was last read. The contents of a
// Namespace or CustomResourceDefinition are inspected first.
func (r *removal) inspectAndDelete(i int) {
	if r.isContainer(i) {
		r.inspect(i)
		return
	}
	r.delete(i)
}

// delete sends the DELETE of the object as it was last read.
func (r *removal) delete(i int) {
	s := &r.steps[i]
	s.retryCause = nil
	cluster, kind, id, live := r.Cluster, s.kind, s.ID, s.live
	options := kube.DeleteOptions{Unchanged: true, Foreground: hasDependents(s.ID), DryRun: r.DryRun}
	r.Queue = append(r.Queue, loop.Task{
		Started: func() { r.steps[i].deleteSent = true },
		Do: func(ctx context.Context) func() {
			err := r.Before(ctx, id)
			if err == nil {
				err = cluster.Delete(ctx, kind, live, options)
			}
			return func() { r.handleDelete(i, err) }
		},
	})
}

// hasDependents reports whether objects of a kind own others, which are then
// deleted first: workloads, and custom resources, whose dependents are not
// known. The deletion of other kinds does not wait for the garbage collector.
func hasDependents(id object.ID) bool {
	switch id.Group {
	case "apps", "batch":
		return true
	case "":
		return id.Kind == "ReplicationController"
	}
	return !object.IsNative(id.Group)
}

// handleDelete handles the answer to a DELETE.
func (r *removal) handleDelete(i int, err error) {
	s := &r.steps[i]
	s.mayHaveReached = s.mayHaveReached || !kube.IsNotSent(err)
	s.deleteSent = s.mayHaveReached
	switch {
	case s.state.Final(): // a watch reported it first, or the step timed out
	case errors.Is(err, kube.ErrFenced): // the run may no longer write: it ends now
		s.retryCause = cmp.Or(kube.Late(err), s.retryCause)
		r.FencedOff(err)
	case err == nil && r.DryRun:
		r.finish(i, progress.Deleted, "")
	case err == nil && r.isGoneImmediately(i):
		r.handleGone(i)
	case err == nil:
		r.handleAccepted(i)
	case kube.IsGone(err):
		r.handleGone(i)
	case kubeerr.IsNotServed(err): // proves nothing about the object
		r.confirm(i, err)
	case apierrors.IsConflict(err): // it has changed since it was read, or is another object
		r.retryOrFail(i, err, func() { r.reread(i) })
	default:
		r.retryOrFail(i, err, func() { r.delete(i) })
	}
}

// isGoneImmediately reports whether an object is gone when its DELETE is answered:
// it had no finalizers, and its kind has no graceful deletion.
func (r *removal) isGoneImmediately(i int) bool {
	s := &r.steps[i]
	lingers := s.ID.IsCRD() || s.ID.Group == "" && (s.ID.Kind == "Pod" || s.ID.Kind == "Namespace")
	return object.IsNative(s.ID.Group) && !lingers && !hasDependents(s.ID) && len(s.live.GetFinalizers()) == 0
}

// handleAccepted waits until an object whose deletion was accepted is gone.
func (r *removal) handleAccepted(i int) {
	s := &r.steps[i]
	if !s.accepted {
		s.accepted, s.acceptedAt = true, time.Now()
		r.releaseDependents(i)
	}
	if r.DryRun || r.NoWait {
		detail := ""
		if r.NoWait {
			detail = "its deletion was accepted and is not waited for"
		}
		r.finish(i, progress.Deleted, detail)
		return
	}
	if s.live.GetDeletionTimestamp() != nil {
		r.move(i, progress.Deleting, deletionDetail(s.live))
	}
	r.watch(i)
}

// releaseDependents releases the steps that waited for the DELETE of a step's object, once
// it was accepted or is not needed.
func (r *removal) releaseDependents(i int) {
	s := &r.steps[i]
	if s.deleteSettled {
		return
	}
	s.deleteSettled = true
	r.waves[s.Wave].deletesPending--
	for _, n := range s.dependents {
		r.release(n)
	}
}

// deletionDetail describes what blocks the deletion of an object.
func deletionDetail(live *unstructured.Unstructured) string {
	return "waiting until it is gone" + kube.DeletionBlockers(live)
}

// handleGone ends a step with success.
func (r *removal) handleGone(i int) {
	if !r.steps[i].state.Final() {
		r.finish(i, progress.Deleted, "")
	}
}

// reread reads an object again.
func (r *removal) reread(i int) {
	s := &r.steps[i]
	cluster, kind, id := r.Cluster, s.kind, s.ID
	r.Enqueue(func(ctx context.Context) func() {
		live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
		return func() { r.handleReread(i, live, err) }
	})
}

// handleReread handles an object that was read again. An object that replaced it
// under its name is never deleted.
func (r *removal) handleReread(i int, live *unstructured.Unstructured, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case kube.IsGone(err):
		r.handleGone(i)
	case kubeerr.IsNotServed(err):
		r.confirm(i, err)
	case err != nil && s.accepted: // a watch or the next read reports it
		r.After(loop.PollEvery, func() { r.rereadIfOpen(i) })
	case err != nil:
		r.retryOrFail(i, err, func() { r.reread(i) })
	case live.GetUID() != s.live.GetUID() && s.accepted:
		r.handleGone(i)
	case live.GetUID() != s.live.GetUID():
		r.finish(i, progress.Kept, "another object has taken its name since this run read it")
	case live.GetDeletionTimestamp() != nil:
		s.live = live
		r.handleAccepted(i)
	case s.accepted: // read before its deletion
		r.After(loop.PollEvery, func() { r.rereadIfOpen(i) })
	default:
		s.live = live
		if why := r.keptBecause(i); why != "" {
			r.finish(i, progress.Kept, why)
			return
		}
		r.inspectAndDelete(i)
	}
}

// rereadIfOpen reads a terminating object, if its step has not ended.
func (r *removal) rereadIfOpen(i int) {
	if !r.steps[i].state.Final() {
		r.reread(i)
	}
}

// retryOrFail retries with backoff as long as the failure may be transient, then
// fails the step.
func (r *removal) retryOrFail(i int, cause error, again func()) {
	s := &r.steps[i]
	cause = redact.Error(s.live, cause)
	if s.retries++; s.retries == 1 {
		s.firstFailureAt = time.Now()
	}
	pause := max(kubeerr.Backoff(r.Ctx(), s.retries), kubeerr.RetryAfter(cause))
	if r.Stopping || time.Since(s.firstFailureAt)+pause > kubeerr.RetryBudget(cause) {
		r.fail(i, progress.Failed, kubeerr.AfterAttempts(explainDeletion(cause), s.retries, s.firstFailureAt))
		return
	}
	s.retryCause = cause
	kube.ReportRetry(r.Ctx(), kube.Retry{Of: "delete " + s.ID.String(), Attempt: s.retries, Pause: pause, Cause: kubeerr.TimeoutInWords(cause)})
	detail := "retrying: " + kubeerr.TimeoutInWords(cause).Error()
	if apierrors.IsConflict(cause) {
		detail = "it has changed since it was read; reading it again"
	}
	r.move(i, progress.Deleting, detail)
	r.After(pause, func() {
		if !r.steps[i].state.Final() {
			again()
		}
	})
}

// move records a step's state and emits an event when it is new.
func (r *removal) move(i int, state progress.State, detail string) {
	s := &r.steps[i]
	if s.state == state && (s.detail == detail || detail == "") {
		return
	}
	s.state, s.detail = state, detail
	r.emit(progress.Event{Op: progress.OpDelete, ID: s.ID, Wave: s.Wave, State: state, Change: progress.Change{Unchanged: s.absent}, Detail: detail, Err: s.err})
}

// finish moves a step to a final state.
func (r *removal) finish(i int, state progress.State, detail string) {
	s := &r.steps[i]
	s.doneAt = time.Now()
	r.waves[s.Wave].unfinished--
	r.move(i, state, detail)
	r.unwatch(i)
	switch {
	case state == progress.Deleted, state == progress.Kept:
		r.releaseDependents(i)
	case !s.deleteSettled:
		s.deleteSettled = true
		r.waves[s.Wave].deletesPending--
	}
}

// fail ends a step with an error, and skips the steps whose requests wait for
// its own.
func (r *removal) fail(i int, state progress.State, cause error) {
	s := &r.steps[i]
	r.failures++
	s.err = &progress.Error{Wave: r.plan.WaveTitle(r.first + s.Wave), Op: progress.OpDelete, ID: s.ID, Err: cause}
	passed := s.deleteSettled
	r.finish(i, state, cause.Error())
	if passed {
		return
	}
	for _, n := range s.dependents {
		r.skip(n, "it must be deleted after "+s.ID.String()+", which could not be deleted")
	}
}

// skip ends a step, and those that wait for it, because another one failed.
func (r *removal) skip(i int, why string) {
	if r.steps[i].state.Final() {
		return
	}
	r.finish(i, progress.Skipped, why)
	for _, n := range r.steps[i].dependents {
		r.skip(n, why)
	}
}

// failTimeout ends a step because a timeout expired.
func (r *removal) failTimeout(i int, after time.Duration, scope string) {
	s := &r.steps[i]
	e := &progress.TimeoutError{After: after, Scope: scope, Last: r.Connectivity.WithOutage(deletionDetail(s.live)), Deletion: true, NotApplied: !s.accepted}
	if !s.accepted {
		e.Last = r.notDeletedReason(i)
	}
	r.fail(i, progress.TimedOut, e)
}

// notDeletedReason returns why the API server has not accepted the deletion
// of a step's object.
func (r *removal) notDeletedReason(i int) string {
	switch s := &r.steps[i]; {
	case s.retryCause != nil:
		return explainDeletion(s.retryCause).Error()
	case s.detail != "":
		return s.detail
	}
	return "its DELETE was sent, and the API server has not answered it"
}

func (r *removal) emit(e progress.Event) {
	e.Time = time.Now()
	e.Wave += r.first
	r.Events(e)
}
