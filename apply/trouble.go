package apply

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/invalid"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/redact"
	"github.com/ordapply/ordapply/internal/sending"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/progress"
)

// retryOrFail retries a failed PATCH as long as the failure may be transient,
// then fails the step.
func (r *run) retryOrFail(i int, answer sending.Reply) {
	s := &r.steps[i]
	answer.Err = redact.Error(s.manifest, answer.Err)
	pause := s.Fail(r.Ctx(), answer.Err)
	missing := kubeerr.MissingNamespace(answer.Err)
	if r.applier.DryRun && missing != "" && r.byID.HasNamespace(missing) {
		r.deferred(i, "its Namespace is created earlier in this run")
		return
	}
	if r.applier.DryRun && r.byID.HasServiceAccount(kubeerr.MissingServiceAccount(answer.Err)) {
		r.deferred(i, "its ServiceAccount is created earlier in this run")
		return
	}
	if r.resolveConflict(i, answer.Err) {
		return
	}
	oldSchema := r.mayUseOldSchema(i, answer.Err) && !s.Last(pause, schemaPropagation)
	if !oldSchema && r.recreate(i, invalid.ImmutableFields(answer.Err)) {
		return
	}
	if !oldSchema && r.repair(i, answer.Err) {
		return
	}
	if kubeerr.IsBeingDeleted(answer.Err) && !r.applier.DryRun {
		r.readTerminating(i)
		return
	}
	limit := kubeerr.RetryBudget(answer.Err)
	if missing != "" && r.byID.HasNamespace(missing) {
		limit = 10 * time.Second
	}
	if oldSchema {
		limit = schemaPropagation
	}
	if s.Last(pause, limit) {
		r.fail(i, Failed, s.Final(invalid.Explain(answer.Err, r.byID.HasNamespace)))
		return
	}
	r.invalidateReads()
	r.requireFreshRead(i)
	r.wait(i, Applying, progress.WaitRetry, s.Retry(r.Ctx(), "apply "+s.ID.String(), answer.Err, pause))
	r.After(pause, func() {
		if !r.steps[i].state.Final() {
			r.requests.Submit(i, answer.Request)
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
		s.Failed-- // the search for blockers does not count as an attempt
	} else {
		s.Failed = 0
	}
	r.sendRefused(sending.Repair, i, refusal)
	return true
}

// recreate deletes a live object to create it again, if its manifest allows
// that. It reports whether it handled the error.
func (r *run) recreate(i int, fields []string) bool {
	s := &r.steps[i]
	if len(fields) == 0 {
		return false
	}
	if !invalid.MayRecreate(s.manifest) || r.applier.DryRun {
		r.fail(i, Failed, invalid.ImmutableError(fields, s.ID.Kind))
		return true
	}
	s.immutableFields = fields
	r.wait(i, Applying, progress.WaitDeletion, "deleting it to recreate it: "+invalid.JoinFields(fields)+" cannot be changed")
	r.send(sending.Delete, i)
	return true
}
