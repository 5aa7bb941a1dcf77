package apply

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/invalid"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/redact"
	"github.com/ordapply/ordapply/internal/sending"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// retryOrFail retries a failed PATCH as long as the failure may be transient,
// then fails the step.
func (r *run) retryOrFail(i int, answer reply) {
	s := &r.steps[i]
	answer.err = redact.Error(s.manifest, answer.err)
	if s.retries++; s.retries == 1 {
		s.firstFailureAt = time.Now()
	}
	missing := kubeerr.MissingNamespace(answer.err)
	if r.applier.DryRun && missing != "" && r.byID.HasNamespace(missing) {
		r.deferred(i, "its Namespace is created earlier in this run")
		return
	}
	if r.applier.DryRun && r.byID.HasServiceAccount(kubeerr.MissingServiceAccount(answer.err)) {
		r.deferred(i, "its ServiceAccount is created earlier in this run")
		return
	}
	if r.resolveConflict(i, answer.err) {
		return
	}
	pause := max(kubeerr.Backoff(r.Ctx(), s.retries), kubeerr.RetryAfter(answer.err))
	oldSchema := r.mayUseOldSchema(i, answer.err) && time.Since(s.firstFailureAt)+pause <= schemaPropagation
	if !oldSchema && r.recreate(i, invalid.ImmutableFields(answer.err)) {
		return
	}
	if !oldSchema && r.repair(i, answer.err) {
		return
	}
	if kubeerr.IsBeingDeleted(answer.err) && !r.applier.DryRun {
		r.readTerminating(i)
		return
	}
	limit := kubeerr.RetryBudget(answer.err)
	if missing != "" && r.byID.HasNamespace(missing) {
		limit = 10 * time.Second
	}
	if oldSchema {
		limit = schemaPropagation
	}
	if time.Since(s.firstFailureAt)+pause > limit {
		r.fail(i, Failed, kubeerr.AfterAttempts(invalid.Explain(answer.err, r.byID.HasNamespace), s.retries, s.firstFailureAt))
		return
	}
	s.retryCause = answer.err
	r.invalidateReads()
	r.requireFreshRead(i)
	cause := kubeerr.TimeoutInWords(answer.err)
	kube.ReportRetry(r.Ctx(), kube.Retry{Of: "apply " + s.ID.String(), Attempt: s.retries, Pause: pause, Cause: cause})
	r.move(i, Applying, "retrying: "+cause.Error())
	r.After(pause, func() {
		if !r.steps[i].state.Final() {
			r.submit(answer.request)
		}
	})
}

// resolveConflict resolves a conflict by migrating previous managers' fields, or by
// force where that is allowed. It reports whether it handled the error.
func (r *run) resolveConflict(i int, err error) bool {
	s := &r.steps[i]
	switch ours := r.snapshot.Owner.ConflictsOnlyWithPrevious(err); {
	case r.snapshot.Owner.ConflictsOnlyWithPlaceholder(err) && !r.applier.DryRun && !s.force:
		s.force, s.migrationTried = true, false // migrate the fields that are not in the manifest afterwards
		r.send(sending.Patch, i)
	case ours && !r.applier.DryRun && !s.migrationTried:
		s.migrationTried = true
		r.send(sending.Migrate, i)
	case !s.force && (ours && r.applier.DryRun || r.snapshot.Owner.MayForce(err)): // a dry run cannot migrate first
		s.force = true
		r.send(sending.Patch, i)
	default:
		return false
	}
	return true
}

// schemaPropagation is how long API servers may use the old schema after a
// CustomResourceDefinition changed: each learns of the change by its own
// watch.
const schemaPropagation = 10 * time.Second

// mayUseOldSchema reports whether a PATCH may have been rejected only because
// the API server still used the old schema of the kind: this run changed its
// CustomResourceDefinition. A new definition has no older schema.
func (r *run) mayUseOldSchema(i int, err error) bool {
	return !r.applier.DryRun && invalid.IsRefusedBySchema(err) && slices.ContainsFunc(r.steps[i].ProvidedBy, func(maker object.ID) bool {
		at, ok := r.byID[maker]
		return ok && r.steps[at].judged.SpecChanged
	})
}

// repair looks for what blocks a PATCH that the server rejected. It reports
// whether it handled the error.
func (r *run) repair(i int, refusal error) bool {
	s := &r.steps[i]
	if s.repairTried || !apierrors.IsInvalid(refusal) {
		return false
	}
	s.repairTried = true
	if r.mayUseOldSchema(i, refusal) {
		s.retries-- // the search for blockers does not count as an attempt
	} else {
		s.retries = 0
	}
	r.sendRefused(sending.Repair, i, refusal)
	return true
}
