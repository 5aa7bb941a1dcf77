package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// trouble retries a failed PATCH as long as its cause may pass, then fails the
// step.
func (r *run) trouble(i int, answer reply) {
	s := &r.steps[i]
	answer.err = withoutSecrets(s.obj, answer.err)
	if s.retries++; s.retries == 1 {
		s.troubled = time.Now()
	}
	missing := missingNamespace(answer.err)
	if r.a.DryRun && missing != "" && r.makesNamespace(missing) {
		r.deferred(i, "its Namespace comes earlier in this run")
		return
	}
	if r.a.DryRun && r.makesAccount(missingAccount(answer.err)) {
		r.deferred(i, "its ServiceAccount comes earlier in this run")
		return
	}
	if r.settleConflict(i, answer.err) {
		return
	}
	pause := max(backoff(r.ctx(), s.retries), retryAfter(answer.err))
	oldSchema := r.meetsOldSchema(i, answer.err) && time.Since(s.troubled)+pause <= newSchemaWithin
	if !oldSchema && r.immutable(i, immutableFields(answer.err)) {
		return
	}
	if !oldSchema && r.repair(i, answer.err) {
		return
	}
	if beingDeleted(answer.err) && !r.a.DryRun {
		r.findVanishing(i)
		return
	}
	limit := patience(answer.err)
	if missing != "" && r.makesNamespace(missing) {
		limit = 10 * time.Second
	}
	if oldSchema {
		limit = newSchemaWithin
	}
	if time.Since(s.troubled)+pause > limit {
		r.fail(i, Failed, afterAttempts(r.explain(answer.err), s.retries, s.troubled))
		return
	}
	s.refusal = answer.err
	r.invalidateReads()
	r.requireFreshRead(i)
	cause := inWords(answer.err)
	reportRetry(r.ctx(), Retry{Of: "apply " + s.ID.String(), Attempt: s.retries, Pause: pause, Cause: cause})
	r.move(i, Applying, "will be sent again: "+cause.Error())
	r.after(pause, func() {
		if !r.steps[i].state.Final() {
			r.hand(answer.request)
		}
	})
}

// settleConflict takes over what predecessors own, and takes by force what the
// person said may be taken. It reports whether it took care of the trouble.
func (r *run) settleConflict(i int, err error) bool {
	s := &r.steps[i]
	switch ours := r.a.onlyPredecessors(err); {
	case r.a.onlyBeforeFirstApply(err) && !r.a.DryRun && !s.forced:
		s.forced, s.migrated = true, false // what the manifest does not hold is taken over after that
		r.send(opPatch, i)
	case ours && !r.a.DryRun && !s.migrated:
		s.migrated = true
		r.send(opMigrate, i)
	case !s.forced && (ours && r.a.DryRun || r.a.mayForce(err)): // a dry run cannot take over first
		s.forced = true
		r.send(opPatch, i)
	default:
		return false
	}
	return true
}

// onlyBeforeFirstApply reports whether all fields in conflict are only noted as
// having been there: no manager is known that wrote them, and the object may become
// a member.
func (a Applier) onlyBeforeFirstApply(err error) bool {
	found := conflicts(err)
	free := a.Membership.Adopt == AdoptAny || !contestsMembership(err)
	return len(found) > 0 && free && !slices.ContainsFunc(found, func(c conflict) bool { return c.manager != applyset.BeforeFirstApply })
}

// makesAccount tells whether the plan holds a ServiceAccount, given as
// namespace/name, or its Namespace, which gets one.
func (r *run) makesAccount(account string) bool {
	namespace, name, _ := strings.Cut(account, "/")
	_, ok := r.byID[object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: name}]
	return account != "" && (ok || name == "default" && r.makesNamespace(namespace))
}

// explain says what to do about an error, as far as the run knows more of it
// than the API server said.
func (r *run) explain(err error) error {
	if namespaceTerminating(err) {
		if name := terminatingNamespace(err); r.makesNamespace(name) {
			return fmt.Errorf("somebody deleted namespace %q while this run applied to it, with all that is in it: run this again, which waits until it is gone", name)
		}
	}
	return explain(err)
}
