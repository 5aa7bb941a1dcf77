package apply

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/invalid"
	"github.com/ordapply/ordapply/internal/kinds"
	"github.com/ordapply/ordapply/internal/readiness"
	"github.com/ordapply/ordapply/internal/sending"
	"github.com/ordapply/ordapply/internal/stream"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
)

// start sends a resource's PATCH, once its kind is served and its
// dependencies outside the stream are met.
func (r *run) start(i int) {
	s := &r.steps[i]
	if s.state.Final() || r.Stopping {
		return
	}
	if s.startedAt.IsZero() {
		s.startedAt = time.Now()
		r.setTimeouts(i)
	}
	if r.awaitExternals(i) {
		return
	}
	r.setCRDTimeout(i)
	s.retryCause = nil
	r.move(i, Applying, "")
	gvk := s.manifest.GroupVersionKind()
	kind, served := r.kind(gvk)
	if !served {
		if r.applier.DryRun && len(s.ProvidedBy) > 0 {
			r.deferred(i, "its "+s.ProvidedBy[0].Kind+" is created earlier in this run")
			return
		}
		r.waitForKinds(i, gvk)
		return
	}
	if kind.Namespaced && s.ID.Namespace == "" {
		r.fail(i, Failed, kinds.MissingNamespace(s.ID.Kind))
		return
	}
	s.kind, s.judged.HasStatus = kind, kind.HasStatus
	r.sendOrSkip(i)
}

// setTimeouts sets the timeout of a single resource, which starts when its
// dependencies in the stream are met: its own, else that of its kind; else,
// with schedule Graph, the wave timeout where no layer bounds it.
func (r *run) setTimeouts(i int) {
	s := &r.steps[i]
	if d, err := stream.OwnTimeout(s.manifest); err == nil && d > 0 {
		s.ownTimeout = d
		r.setTimeout(i, d, "resource")
		return
	}
	if s.Timeout > 0 {
		s.ownTimeout = s.Timeout
		r.setTimeout(i, s.Timeout, "kind")
		return
	}
	if r.applier.Schedule == Graph {
		bounded := false
		r.timedLayers(i, func(int) { bounded = true })
		if !bounded {
			r.setTimeout(i, r.applier.WaveTimeout, "wave")
		}
	}
}

// setCRDTimeout sets the timeout of a CustomResourceDefinition that has
// none of its own (KubeVela KEP-0005). The wait for dependencies outside the
// stream does not count.
func (r *run) setCRDTimeout(i int) {
	if s := &r.steps[i]; s.ownTimeout == 0 && len(kube.DefinedKinds(s.manifest)) > 0 {
		r.setTimeout(i, r.applier.CRDTimeout, "CRD")
	}
}

// setTimeout times out one resource after d; never when d is negative.
func (r *run) setTimeout(i int, d time.Duration, scope string) {
	if d < 0 {
		return
	}
	r.After(d, func() { r.onTimeout(i, d, scope) })
}

// onTimeout times out one resource.
func (r *run) onTimeout(i int, after time.Duration, scope string) {
	if s := &r.steps[i]; s.state == Waiting || s.state == Applying {
		r.failTimeout(i, after, scope)
	}
}

// deferred ends a step of a dry run that depends on objects that the dry run
// does not create.
func (r *run) deferred(i int, why string) {
	r.finish(i, Deferred, why)
	r.pass(i)
	r.onGatePassed(i, ordering.Applied)
	r.onGatePassed(i, ordering.Ready)
}

// applied handles the object that a PATCH returned. It starts the steps that
// waited for it to be applied, and judges its readiness at once: a PATCH that
// changes nothing causes no watch event.
func (r *run) applied(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	s.applied = readiness.Identity{UID: string(live.GetUID()), Generation: live.GetGeneration()}
	r.updateWatchLabel(i, live)
	r.recordCreated(i, live)
	if live.GetDeletionTimestamp() != nil {
		r.awaitDeletion(i, live)
		return
	}
	if !r.applier.DryRun && !s.migrationTried && r.snapshot.Owner.HasPreviousManagerFields(live) {
		s.migrationTried, s.force = true, false
		r.move(i, Applying, "taking over fields of another manager")
		r.send(sending.Migrate, i)
		return
	}
	if !s.fromRead {
		r.invalidateReads()
	}
	s.answeredAt = time.Now()
	s.judged.Start(live, s.unchanged && !r.madeWorkload)
	r.recordChange(i, live)
	r.move(i, Waiting, "")
	r.onGatePassed(i, ordering.Applied)
	ungated := r.applier.DryRun || r.applier.SkipWait(s.ID)
	if ungated || s.Gate == ordering.Applied {
		r.pass(i)
	}
	if ungated || s.gatePassed && !r.hasReadyDependents(i) {
		r.finish(i, Applied, "")
		r.onGatePassed(i, ordering.Ready)
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

// keepWaiting watches a step's object, unless the step has ended.
func (r *run) keepWaiting(i int, live *unstructured.Unstructured) {
	r.replayBuffered(i, live)
	if s := &r.steps[i]; s.state == Waiting && !r.kindWaiter.IsWaiting(i) {
		r.watch(i)
		if !r.applier.NoDiagnosis && !r.applier.DryRun {
			r.podWatcher.Start(i, s.ID)
		}
	}
}

// finishReady ends a step with success and starts its dependents. why is the reason
// where readiness is assumed.
func (r *run) finishReady(i int, why string) {
	if !r.steps[i].fromRead {
		r.invalidateReads()
	}
	r.finish(i, Ready, why)
	r.pass(i)
	r.onGatePassed(i, ordering.Ready)
}

// migrated applies once more after the fields of a previous manager were migrated,
// so that fields that the manifest no longer has are removed. If the
// migration failed, the next run tries again.
func (r *run) migrated(answer reply) {
	r.send(sending.Patch, answer.step)
}

// move records a step's state and emits an event when it is new.
func (r *run) move(i int, state State, detail string) {
	s := &r.steps[i]
	if s.state == state && (s.detail == detail || detail == "") {
		return
	}
	if s.state != state {
		if s.requestPending {
			s.requestPending = false
			r.pendingRequests--
		}
		r.waves[s.Wave].shift(s.state, state)
		r.updateLayerClocks(i, s.state, state)
	}
	if state.Final() {
		r.unfinished--
	}
	op := opOf(s.state, state)
	s.state, s.detail = state, detail
	r.emit(Event{Op: op, ID: s.ID, Layer: s.Layer, Wave: s.Wave, State: state, Change: progress.Change{Unchanged: s.unchanged, Created: s.createdUID != ""}, Assumed: s.assumed && state == Ready, Health: s.grade, Detail: detail, Err: s.err})
}

// finish moves a step to a final state.
func (r *run) finish(i int, state State, detail string) {
	s := &r.steps[i]
	s.doneAt = time.Now()
	if state.Succeeded() {
		s.lastSeen = nil
	}
	r.move(i, state, detail)
}

// fail ends a step with an error, and skips its dependents.
func (r *run) fail(i int, state State, cause error) {
	s := &r.steps[i]
	applied := s.state == Waiting
	r.failures++
	s.err = &Error{Wave: r.plan.WaveTitle(s.Wave), Op: opOf(s.state, state), ID: s.ID, Err: cause}
	r.finish(i, state, cause.Error())
	r.skipDependents(i, applied)
}

// failTimeout ends a step because a timeout expired.
func (r *run) failTimeout(i int, after time.Duration, scope string) {
	s := &r.steps[i]
	e := &TimeoutError{After: after, Scope: scope, Last: r.lastDetail(i), NotApplied: s.state != Waiting}
	if e.NotApplied {
		e.Last = r.notAppliedReason(i)
	}
	r.fail(i, TimedOut, e)
}

// notAppliedReason returns why a step is not applied.
func (r *run) notAppliedReason(i int) string {
	switch s := &r.steps[i]; {
	case s.retryCause != nil:
		return invalid.Explain(s.retryCause, r.byID.HasNamespace).Error()
	case r.kindWaiter.IsWaiting(i) && len(s.External) == 0 && len(s.ProvidedBy) == 0:
		return kinds.Unserved(r.applier.Cluster, s.manifest.GroupVersionKind(), 0).Error()
	case s.detail != "":
		return r.lastDetail(i)
	case s.sentAt.IsZero():
		return "its PATCH was not sent yet"
	}
	return "its PATCH was sent, and the API server has not answered it"
}

func (r *run) emit(e Event) {
	e.Time = time.Now()
	r.applier.Events(e)
}

// opOf returns the operation that a transition between two states belongs to.
func opOf(from, to State) Op {
	if from == Waiting || to == Waiting || to == Ready {
		return OpWait
	}
	return OpApply
}
