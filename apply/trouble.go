package apply

import (
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/recreate"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// retryOrFail retries a failed PATCH as long as the failure may be transient,
// then fails the step.
func (r *run) retryOrFail(i int, answer reply) {
	s := &r.steps[i]
	answer.err = redact.Without(redact.Error(s.manifest, answer.err), r.secretsOf(i))
	pause := s.Fail(answer.err)
	missing := fault.MissingNamespace(answer.err)
	if r.applier.DryRun && missing != "" && r.byID.HasNamespace(missing) {
		r.deferred(i, "its Namespace is created earlier in this run")
		return
	}
	if r.applier.DryRun && r.byID.HasServiceAccount(fault.MissingServiceAccount(answer.err)) {
		r.deferred(i, "its ServiceAccount is created earlier in this run")
		return
	}
	if crd, changes := r.changedDefinition(i); r.applier.DryRun && changes && write.IsRefusedBySchema(answer.err) {
		r.deferred(i, "its kind is changed by "+crd.String()+" earlier in this run")
		return
	}
	if r.resolveConflict(i, answer.err) {
		return
	}
	oldSchema := r.mayUseOldSchema(i, answer.err) && !s.Last(pause, schemaPropagation)
	if !oldSchema && r.recreate(i, answer.err) {
		return
	}
	if r.keepNewer(i, answer.err) {
		return
	}
	releasing := s.recreated && fault.IsStillAllocated(answer.err)
	if !oldSchema && !releasing && r.repair(i, answer.err) {
		return
	}
	if fault.IsBeingDeleted(answer.err) && !r.applier.DryRun {
		r.readTerminating(i)
		return
	}
	if r.awaitNamespace(i, missing, answer, pause) {
		return
	}
	limit := fault.RetryBudget(answer.err)
	if missing != "" && r.byID.HasNamespace(missing) {
		limit = 10 * time.Second
	}
	if oldSchema {
		limit = schemaPropagation
	}
	if releasing {
		limit = allocationRelease
	}
	if s.Last(pause, limit) {
		r.fail(i, event.Failed, s.recreationError(s.Final(write.ExplainInvalid(answer.err, r.byID.HasNamespace))))
		return
	}
	r.invalidateReads()
	r.requireFreshRead(i)
	r.wait(i, event.Applying, event.WaitRetry, s.Retry(r.Ctx(), "apply "+s.ID.String(), answer.err, pause))
	r.After(pause, func() {
		if !r.steps[i].state.Final() {
			r.submit(i, answer.Request)
		}
	})
}

// resolveConflict resolves a conflict by migrating previous managers' fields, or by
// force where that is allowed. It reports whether it handled the error.
func (r *run) resolveConflict(i int, err error) bool {
	s := &r.steps[i]
	switch ours := r.snapshot.Owner.ConflictsOnlyWithPrevious(err, s.ofManagers().former); {
	case r.snapshot.Owner.ConflictsOnlyWithPlaceholder(err) && !r.applier.DryRun && !s.force:
		s.force, s.migrationTried = true, false // migrate the fields that are not in the manifest afterwards
		r.send(request.Patch, i)
	case ours && !r.applier.DryRun && !s.migrationTried:
		s.migrationTried = true
		r.send(request.Migrate, i)
	case !s.force && (ours && r.applier.DryRun || r.snapshot.Owner.MayForce(err)): // a dry run cannot migrate first
		s.force = true
		r.send(request.Patch, i)
	default:
		return false
	}
	return true
}

// schemaPropagation is how long API servers may use the old schema after a
// CustomResourceDefinition changed: each learns of the change by its own
// watch.
const schemaPropagation = 10 * time.Second

// allocationRelease is how long a deleted Service's addresses and ports may be taken after
// the Service itself is gone: the API server releases them afterwards.
const allocationRelease = 30 * time.Second

// mayUseOldSchema reports whether a PATCH may have been rejected only because
// the API server still used the old schema of the kind: this run changed its
// CustomResourceDefinition. A new definition has no older schema.
func (r *run) mayUseOldSchema(i int, err error) bool {
	return !r.applier.DryRun && write.IsRefusedBySchema(err) && slices.ContainsFunc(r.steps[i].ProvidedBy, func(maker object.ID) bool {
		at, ok := r.byID[maker]
		return ok && r.steps[at].judged.SpecChanged
	})
}

// changedDefinition returns the CustomResourceDefinition of a step's kind that this run
// applies because it differs from the live one.
func (r *run) changedDefinition(i int) (crd object.ID, changes bool) {
	for _, maker := range r.steps[i].ProvidedBy {
		if at, ok := r.byID[maker]; ok && !r.steps[at].unchanged {
			return maker, true
		}
	}
	return object.ID{}, false
}

// repair looks for fields that block a PATCH that the server rejected. It reports
// whether it handled the error.
func (r *run) repair(i int, refusal error) bool {
	s := &r.steps[i]
	if s.repairTried || !apierrors.IsInvalid(refusal) {
		return false
	}
	s.repairTried = true
	if r.mayUseOldSchema(i, refusal) {
		s.Failed-- // the search for blockers does not count as an attempt
	} else {
		s.Failed = 0
	}
	r.sendRefused(request.Repair, i, refusal)
	return true
}

// recreate has a live object deleted and created again, if its manifest allows that and the
// refusal of its PATCH may be about immutable fields. The worker proves it first. It reports
// whether it handled the error.
func (r *run) recreate(i int, refusal error) bool {
	s := &r.steps[i]
	if s.recreated || s.recreateTried || !recreate.IsCandidate(s.manifest, refusal) {
		return false
	}
	if r.applier.mayRecreate(s.manifest) {
		r.sendRefused(request.Recreate, i, refusal)
		return true
	}
	fields := write.ImmutableFields(refusal)
	if len(fields) > 0 {
		r.fail(i, event.Failed, write.ImmutableError(fields, s.ID.Kind))
	}
	return len(fields) > 0
}

// keepNewer keeps a CustomResourceDefinition that cannot go back to an earlier revision. It
// reports whether it handled the error.
func (r *run) keepNewer(i int, refusal error) bool {
	s := &r.steps[i]
	if !r.applier.GoingBack || !s.ID.IsCRD() {
		return false
	}
	if s.kept = write.StoredVersionsDetail(refusal); s.kept == "" {
		return false
	}
	s.phase = readingKept
	r.send(request.Get, i)
	return true
}

// handleKept handles the read of a definition that is kept as it is.
func (r *run) handleKept(answer reply) {
	s := &r.steps[answer.step]
	s.phase = patching
	if answer.err != nil {
		r.retryOrFail(answer.step, answer)
		return
	}
	s.unchanged, s.fromRead = true, true
	r.applied(answer.step, answer.Live)
}

// handleRecreation handles the answer to a Recreate.
func (r *run) handleRecreation(answer reply) {
	i, s := answer.step, &r.steps[answer.step]
	why := write.JoinFields(write.InvalidFields(answer.Refusal)) + " cannot be changed"
	switch err := answer.err; {
	case errors.Is(err, recreate.ErrOtherCause):
		s.recreateTried = true
		answer.Op, answer.err = request.Patch, answer.Refusal
		r.retryOrFail(i, answer)
	case errors.As(err, &recreate.Refused{}):
		r.fail(i, event.Failed, err)
	case err == nil && r.applier.DryRun:
		s.recreated = true
		r.finishDryRun(i, event.Applied, "it would be deleted and created again: "+why)
	case err == nil, fault.IsMissing(err):
		s.recreated = err == nil
		r.wait(i, event.Applying, event.WaitDeletion, "deleting it to recreate it: "+why)
		r.awaitRecreation(i, answer.Live)
	case apierrors.IsConflict(err): // it has changed since it was read, or another object has its name
		answer.Op = request.Patch
		r.retryOrFail(i, answer)
	case fault.RetryBudget(err) > 0:
		r.retryOrFail(i, answer)
	default:
		r.fail(i, event.Failed, fmt.Errorf("delete it to recreate it: %w", err))
	}
}

// awaitRecreation waits until the deleted object is gone, and then applies it again.
func (r *run) awaitRecreation(i int, old *unstructured.Unstructured) {
	s := &r.steps[i]
	s.phase = awaitingGone
	if old == nil {
		r.handleGone(i)
		return
	}
	s.applied = request.Identity{UID: string(old.GetUID())}
	r.updateWatchLabel(i, old)
	r.wait(i, event.Applying, event.WaitDeletion, "the old object is being deleted"+kube.DeletionBlockers(old))
	r.watches.Follow(i)
}

// recreationError adds the deletion of a step's object to its error.
func (s *step) recreationError(cause error) error {
	if !s.isHalfRecreated() {
		return cause
	}
	return fmt.Errorf("the old object was deleted to recreate it, and the API server rejects the new one: %w", cause)
}
