package apply

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// applied handles the object that a PATCH returned. It starts the steps that
// waited for it to be applied, and judges its readiness at once: a PATCH that
// changes nothing causes no watch event.
func (r *run) applied(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	s.applied = request.Identity{UID: string(live.GetUID()), Generation: live.GetGeneration()}
	r.updateWatchLabel(i, live)
	r.recordCreated(i, live)
	if live.GetDeletionTimestamp() != nil {
		r.awaitDeletion(i, live)
		return
	}
	if err := r.applier.owner().AnswerError(live); err != nil && !s.fromRead {
		r.fail(i, event.Failed, err)
		return
	}
	if !r.applier.DryRun && !s.fromRead && !s.migrationTried && r.snapshot.TakesOver(i, live) {
		s.migrationTried, s.force = true, false
		r.takeOver(i, live, false)
		return
	}
	if !s.fromRead {
		r.invalidateReads()
	}
	s.answeredAt = time.Now()
	r.recordCRDProgress(i)
	if m := s.managers; m != nil {
		m.owners.Left = write.RedactLeftFields(r.snapshot.Owner.LeftFields(m.ownFields, live), redact.NewReplacer(r.secretsOf(i)))
	}
	s.judged.Start(live, s.unchanged && !r.madeWorkload)
	r.recordChange(i, live)
	r.move(i, event.Waiting, "")
	if r.failOverdue(i); s.state.Final() {
		return
	}
	r.onGatePassed(i, ordering.Applied)
	ungated := r.applier.DryRun || r.applier.SkipWait(s.ID)
	if ungated || s.Gate == ordering.Applied && !r.formedNext(i) {
		r.pass(i)
	}
	if ungated || s.gatePassed && !r.order.HoldsUntil(i, ordering.Ready) && !r.order.HoldsUntil(i, ordering.Started) {
		r.finishApplied(i, live)
		return
	}
	if kinds := kube.DefinedKinds(s.manifest); s.unchanged && len(kinds) > 0 {
		r.waitForKinds(i, kinds...) // only its metadata was read
	} else {
		r.evaluate(i, live)
	}
	if !r.columns.IsAwaiting(i, r.steps[i].kind) {
		r.keepWaiting(i, live)
	}
}

// formedNext reports whether the hooks that follow make the Pods of a workload a cluster. They, and
// later waves, wait until the Pods exist, and while some are ready, until all are: there is a
// cluster then.
func (r *run) formedNext(i int) bool {
	s := &r.steps[i]
	return s.AfterHooks && s.ID.MakesPods() && r.hooks.Then != ""
}

// awaitsHooks reports whether a workload that is not ready waits for the hooks that follow.
func (r *run) awaitsHooks(i int, live *unstructured.Unstructured) bool {
	ready, _, _ := unstructured.NestedInt64(live.Object, "status", "readyReplicas")
	return ready == 0 && r.formedNext(i) && !r.order.HoldsUntil(i, ordering.Ready)
}

// finishApplied ends a step for whose readiness nothing waits now. If hooks that follow make it
// ready, it is unready until then.
func (r *run) finishApplied(i int, live *unstructured.Unstructured) {
	detail := ""
	if s := &r.steps[i]; s.AfterHooks && r.hooks.Then != "" {
		if a, _ := r.judge().Assess(s.judged, live); a.Verdict != health.Ready {
			s.leftUnready, detail = true, "applied; "+r.hooks.Then+" run before it is ready"
		}
	}
	r.finish(i, event.Applied, detail)
	r.pass(i)
	r.passStarted(i)
	r.onGatePassed(i, ordering.Ready)
}

// keepWaiting watches a step's object, unless the step has ended.
func (r *run) keepWaiting(i int, live *unstructured.Unstructured) {
	r.replayBuffered(i, live)
	if s := &r.steps[i]; s.state == event.Waiting && !r.kindWaiter.IsWaiting(i) {
		r.watches.Follow(i)
		if !r.applier.NoDiagnosis && !r.applier.DryRun && !r.OnePass {
			r.podWatcher.Start(i, s.target())
		}
	}
}

// onColumnsRead judges a step that waited for printer columns.
func (r *run) onColumnsRead(i int) {
	if s := &r.steps[i]; s.state == event.Waiting && s.lastSeen != nil {
		live := s.lastSeen
		r.evaluate(i, live)
		r.keepWaiting(i, live)
	}
}
