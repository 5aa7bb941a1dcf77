package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// retryOrFail retries a failed PATCH as long as the failure may be transient,
// then fails the step.
func (r *run) retryOrFail(i int, answer reply) {
	s := &r.steps[i]
	answer.err = kubeerr.WithoutSecretValues(s.manifest, answer.err)
	if s.retries++; s.retries == 1 {
		s.firstFailureAt = time.Now()
	}
	missing := kubeerr.MissingNamespace(answer.err)
	if r.applier.DryRun && missing != "" && r.hasNamespace(missing) {
		r.deferred(i, "its Namespace is created earlier in this run")
		return
	}
	if r.applier.DryRun && r.hasServiceAccount(kubeerr.MissingServiceAccount(answer.err)) {
		r.deferred(i, "its ServiceAccount is created earlier in this run")
		return
	}
	if r.resolveConflict(i, answer.err) {
		return
	}
	pause := max(kubeerr.Backoff(r.Ctx(), s.retries), kubeerr.RetryAfter(answer.err))
	oldSchema := r.mayUseOldSchema(i, answer.err) && time.Since(s.firstFailureAt)+pause <= schemaPropagation
	if !oldSchema && r.recreate(i, immutableFields(answer.err)) {
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
	if missing != "" && r.hasNamespace(missing) {
		limit = 10 * time.Second
	}
	if oldSchema {
		limit = schemaPropagation
	}
	if time.Since(s.firstFailureAt)+pause > limit {
		r.fail(i, Failed, kubeerr.AfterAttempts(r.explain(answer.err), s.retries, s.firstFailureAt))
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
	switch ours := r.applier.conflictsOnlyWithPrevious(err); {
	case r.applier.conflictsOnlyWithPlaceholder(err) && !r.applier.DryRun && !s.force:
		s.force, s.migrationTried = true, false // migrate the fields that are not in the manifest afterwards
		r.send(opPatch, i)
	case ours && !r.applier.DryRun && !s.migrationTried:
		s.migrationTried = true
		r.send(opMigrate, i)
	case !s.force && (ours && r.applier.DryRun || r.applier.mayForce(err)): // a dry run cannot migrate first
		s.force = true
		r.send(opPatch, i)
	default:
		return false
	}
	return true
}

// conflictsOnlyWithPlaceholder reports whether all fields in conflict belong to the
// API server's placeholder manager for fields from before the first apply, so
// that no real manager is known, and the object may become a member.
func (a Applier) conflictsOnlyWithPlaceholder(err error) bool {
	found := kubeerr.Conflicts(err)
	free := a.Membership.Adopt == AdoptAny || !kubeerr.IsMembershipConflict(err)
	return len(found) > 0 && free && !slices.ContainsFunc(found, func(c kubeerr.Conflict) bool { return c.Manager != applyset.BeforeFirstApply })
}

// hasServiceAccount reports whether the plan contains a ServiceAccount, given as
// namespace/name, or its Namespace for the default one.
func (r *run) hasServiceAccount(account string) bool {
	namespace, name, _ := strings.Cut(account, "/")
	_, ok := r.byID[object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: name}]
	return account != "" && (ok || name == "default" && r.hasNamespace(namespace))
}

// explain adds a remedy to an error, using what the run knows in addition to
// the API server's answer.
func (r *run) explain(err error) error {
	if kubeerr.IsNamespaceTerminating(err) {
		if name := kubeerr.TerminatingNamespace(err); r.hasNamespace(name) {
			return fmt.Errorf("another client deleted namespace %q with everything in it during this run: run this again, which waits until it is gone", name)
		}
	}
	return kubeerr.Explain(err)
}
