package remove

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// start deletes a step's object, unless it does not exist or must be kept.
func (r *removal) start(i int) {
	s := &r.steps[i]
	if s.state.Final() {
		return
	}
	if s.live == nil {
		s.absent = true
		r.finish(i, event.Deleted, "it did not exist")
		return
	}
	if why := r.keptBecause(i); why != "" {
		r.finish(i, event.Kept, why)
		return
	}
	var served bool
	if s.kind, served = r.Cluster.Kind(s.live.GroupVersionKind()); !served {
		r.fail(i, event.Failed, event.WithCode(event.CodeNotServed, errors.New("the API server does not serve "+s.live.GroupVersionKind().String()+", the version in which it was read")))
		return
	}
	s.sentAt = time.Now()
	r.move(i, event.Deleting, "")
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
	s.Cause = nil
	cluster, kind, id, live := r.Cluster, s.kind, s.ID, s.live
	options := kube.DeleteOptions{Unchanged: true, DryRun: r.DryRun}
	hasDependents := ownsPods(id) || r.owners[live.GetUID()]
	r.Queue = append(r.Queue, loop.Task{
		Started: func() { r.steps[i].request.delivery.Start() },
		Do: func(ctx context.Context) func() {
			if err := r.Before(ctx, id); err != nil {
				return func() { r.handleUnsent(i, err) }
			}
			options.Foreground = hasDependents && collectorCanRead(ctx, cluster, live)
			err := cluster.Delete(ctx, kind, live, options)
			return func() {
				r.steps[i].request.delivery.Answered(err)
				r.handleDelete(i, err)
				if err == nil && options.Foreground && r.mayCollect(i) {
					r.collect(i)
				}
			}
		},
	})
}

// handleUnsent handles an error before a DELETE, which says nothing about the object.
func (r *removal) handleUnsent(i int, err error) {
	s := &r.steps[i]
	s.request.delivery.Unsent()
	switch {
	case s.state.Final(): // a watch reported it, or the step timed out
	case errors.Is(err, kube.ErrFenced): // the run may no longer write: it ends now
		r.FencedOff(err)
	default:
		r.retryOrFail(i, err, func() { r.delete(i) })
	}
}

// handleDelete handles the answer to a DELETE.
func (r *removal) handleDelete(i int, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final(): // a watch reported it first, or the step timed out
	case errors.Is(err, kube.ErrFenced): // the run may no longer write: it ends now
		s.Cause = cmp.Or(kube.Late(err), s.Cause)
		r.FencedOff(err)
	case err == nil && r.DryRun:
		r.finish(i, event.Deleted, "")
	case err == nil && r.isGoneImmediately(i):
		r.handleGone(i)
	case err == nil:
		r.handleAccepted(i)
	case kube.IsGone(err):
		r.handleGone(i)
	case fault.IsNotServed(err): // proves nothing about the object
		r.confirm(i, err)
	case apierrors.IsConflict(err): // it has changed since it was read, or is another object
		r.retryOrFail(i, err, func() { r.reread(i) })
	default:
		r.retryOrFail(i, err, func() { r.delete(i) })
	}
}

// handleAccepted waits until an object whose deletion was accepted is gone.
func (r *removal) handleAccepted(i int) {
	s := &r.steps[i]
	if !s.request.accepted() {
		s.request.acceptedAt = time.Now()
		r.settle(i, true)
	}
	if r.DryRun || r.NoWait {
		detail := ""
		if r.NoWait {
			detail = "its deletion was accepted and is not waited for"
		}
		r.finish(i, event.Deleted, detail)
		return
	}
	if s.live.GetDeletionTimestamp() != nil {
		r.move(i, event.Deleting, deletionDetail(s.live))
	}
	r.watches.Follow(i)
}

// inspect reads the contents of a Namespace or CustomResourceDefinition, and
// deletes it when nothing else would be deleted with it.
func (r *removal) inspect(i int) {
	s := &r.steps[i]
	look, id := r.contents(), s.ID
	s.request.inspecting = true
	r.Enqueue(func(ctx context.Context) func() {
		found, err := look.OnlyDeletedWith(ctx, id)
		return func() { r.handleInspection(i, found, err) }
	})
}

func (r *removal) handleInspection(i int, found []object.ID, err error) {
	s := &r.steps[i]
	s.request.inspecting = false
	switch {
	case s.state.Final():
	case err != nil && fault.RetryBudget(err) > 0 && !fault.IsConversionFailure(err):
		r.retryOrFail(i, err, func() { r.inspect(i) })
	case err != nil || len(found) > 0:
		r.finish(i, event.Kept, contentsReason(found, err, r.anyway(s.ID)))
	default:
		r.delete(i)
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
	case fault.IsNotServed(err):
		r.confirm(i, err)
	case err != nil && s.request.accepted(): // a watch or the next read reports it
		r.After(loop.PollEvery, func() { r.rereadIfOpen(i) })
	case err != nil:
		r.retryOrFail(i, err, func() { r.reread(i) })
	case live.GetUID() != s.live.GetUID() && s.request.accepted():
		r.handleGone(i)
	case live.GetUID() != s.live.GetUID():
		r.finish(i, event.Kept, "another object has taken its name since this run read it")
	case live.GetDeletionTimestamp() != nil:
		s.live = live
		r.handleAccepted(i)
	case s.request.accepted(): // read before its deletion
		r.After(loop.PollEvery, func() { r.rereadIfOpen(i) })
	default:
		s.live = live
		if why := r.keptBecause(i); why != "" {
			r.finish(i, event.Kept, why)
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

// confirm finds out what a bare 404 means: the kind is gone, and the object
// with it; or the path is temporarily not served, or a proxy answered, and
// the object may still exist.
func (r *removal) confirm(i int, cause error) {
	cluster, gk := r.Cluster, schema.GroupKind{Group: r.steps[i].ID.Group, Kind: r.steps[i].ID.Kind}
	r.Enqueue(func(ctx context.Context) func() {
		err := kube.ConfirmGone(ctx, cluster, gk)
		return func() { r.handleConfirmation(i, cause, err) }
	})
}

func (r *removal) handleConfirmation(i int, cause, err error) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case err == nil:
		r.handleGone(i)
	case s.request.accepted():
		r.After(loop.PollEvery, func() { r.rereadIfOpen(i) })
	default:
		r.retryOrFail(i, &unconfirmedError{cause, err}, func() { r.reread(i) })
	}
}

// isGoneImmediately reports whether an object is gone when its DELETE is answered:
// it had no finalizers, and its kind has no graceful deletion.
func (r *removal) isGoneImmediately(i int) bool {
	s := &r.steps[i]
	lingers := s.ID.IsCRD() || s.ID.Group == "" && (s.ID.Kind == "Pod" || s.ID.Kind == "Namespace")
	return object.IsNative(s.ID.Group) && !lingers && !ownsPods(s.ID) && len(s.live.GetFinalizers()) == 0
}

// handleChange handles a change that a watch reported. Changes count only for the
// object with the uid that is deleted.
func (r *removal) handleChange(i int, obj *unstructured.Unstructured, change loop.Change) {
	switch s := &r.steps[i]; {
	case s.state != event.Deleting || s.live == nil || obj.GetUID() != s.live.GetUID():
	case change == loop.Left:
		r.reread(i) // it may only have lost the label
	case change == loop.Deleted:
		r.handleGone(i)
	case s.request.accepted() && obj.GetDeletionTimestamp() != nil:
		s.live = obj
		r.move(i, event.Deleting, deletionDetail(obj))
	}
}
