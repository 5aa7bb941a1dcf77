package apply

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/ordering"
)

// start sends a resource's PATCH, once its kind is served and what it needs from
// outside the stream is there.
func (r *run) start(i int) {
	s := &r.steps[i]
	if s.state.Final() || r.stopping {
		return
	}
	if s.begun.IsZero() {
		s.begun = time.Now()
		r.limit(i)
	}
	if r.awaitOutsiders(i) {
		return
	}
	r.limitPrerequisite(i)
	s.refusal = nil
	r.move(i, Applying, "")
	gvk := s.obj.GroupVersionKind()
	kind, served := r.kind(gvk)
	if !served {
		if r.a.DryRun && len(s.MadeBy) > 0 {
			r.deferred(i, "its "+s.MadeBy[0].Kind+" comes earlier in this run")
			return
		}
		r.awaitKinds(i, gvk)
		return
	}
	if kind.Namespaced && s.ID.Namespace == "" {
		r.fail(i, Failed, withoutNamespace(s.ID.Kind))
		return
	}
	s.kind = kind
	r.proceed(i)
}

func withoutNamespace(kind string) error {
	return fmt.Errorf("%s turned out to be namespaced, which nothing told when the run began: give it metadata.namespace", kind)
}

// limit sets the timeouts that hold for one resource alone, from when all that
// it needs of the stream is there: what its author says of it or of its kind;
// else a wave's where neither a wave nor a layer bounds it.
func (r *run) limit(i int) {
	s := &r.steps[i]
	if d, err := ownTimeout(s.obj); err == nil && d > 0 {
		s.patience = d
		r.within(i, d, "resource")
		return
	}
	if s.Timeout > 0 {
		s.patience = s.Timeout
		r.within(i, s.Timeout, "kind")
		return
	}
	if r.a.Schedule == Graph {
		bounded := false
		r.timedLayers(i, func(int) { bounded = true })
		if !bounded {
			r.within(i, r.a.WaveTimeout, "wave")
		}
	}
}

// limitPrerequisite sets the timeout of a CustomResourceDefinition that has none
// of its own (KubeVela KEP-0005). What it needs from outside does not count.
func (r *run) limitPrerequisite(i int) {
	if s := &r.steps[i]; s.patience == 0 && len(definedKinds(s.obj)) > 0 {
		r.within(i, r.a.CRDTimeout, "CRD")
	}
}

// within gives up on one resource when some time has passed; never when that is
// negative.
func (r *run) within(i int, d time.Duration, scope string) {
	if d < 0 {
		return
	}
	r.after(d, func() { r.expire(i, d, scope) })
}

// expire gives up on one resource.
func (r *run) expire(i int, after time.Duration, scope string) {
	if s := &r.steps[i]; s.state == Waiting || s.state == Applying {
		r.timeOut(i, after, scope)
	}
}

// deferred ends a step of a dry run that depends on what a dry run does not do.
func (r *run) deferred(i int, why string) {
	r.finish(i, Deferred, why)
	r.pass(i)
	r.met(i, ordering.Applied)
	r.met(i, ordering.Ready)
}

// applied takes the object that a PATCH returned: what waited for it to be
// applied starts, and its readiness is judged on it at once. A PATCH that
// changes nothing causes no event to wait for.
func (r *run) applied(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	s.live = identity{uid: string(live.GetUID()), generation: live.GetGeneration()}
	r.heed(i, live)
	r.noteCreated(i, live)
	if live.GetDeletionTimestamp() != nil {
		r.awaitDeletion(i, live)
		return
	}
	if !r.a.DryRun && !s.migrated && r.a.inherits(live) {
		s.migrated, s.forced = true, false
		r.move(i, Applying, "taking over what another manager owned")
		r.send(opMigrate, i)
		return
	}
	if !s.fromRead {
		r.invalidateReads()
	}
	s.answered = time.Now()
	s.appliedAt = time.Now()
	s.mute = r.muteSince(i, live)
	r.noteChange(i, live)
	r.move(i, Waiting, "")
	r.met(i, ordering.Applied)
	ungated := r.a.DryRun || r.a.Ungated(s.ID)
	if ungated || s.Gate == ordering.Applied {
		r.pass(i)
	}
	if ungated || s.passed && !r.neededReady(i) {
		r.finish(i, Applied, "")
		r.met(i, ordering.Ready)
		return
	}
	if kinds := definedKinds(s.obj); s.unchanged && len(kinds) > 0 {
		r.awaitKinds(i, kinds...) // only its metadata was read
	} else {
		r.judge(i, live)
	}
	if !r.isLearning(i) {
		r.keepWaiting(i, live)
	}
}

// keepWaiting watches a step's object, unless it has been judged for good.
func (r *run) keepWaiting(i int, live *unstructured.Unstructured) {
	r.catchUp(i, live)
	if s := &r.steps[i]; s.state == Waiting && s.unserved == 0 {
		r.watch(i)
		r.lookAtPods(i)
	}
}

// ready ends a step as it should end, and goes on with who waited for that. why
// is told where it was assumed.
func (r *run) ready(i int, why string) {
	if !r.steps[i].fromRead {
		r.invalidateReads()
	}
	r.finish(i, Ready, why)
	r.pass(i)
	r.met(i, ordering.Ready)
}

// migrated applies once more after the fields of a predecessor became ours, so that what the manifest no longer holds goes. When the
// migration did not work, the next run tries again.
func (r *run) migrated(answer reply) {
	r.send(opPatch, answer.step)
}

// move records a step's state and tells about it when it says something new.
func (r *run) move(i int, state State, detail string) {
	s := &r.steps[i]
	if s.state == state && (s.detail == detail || detail == "") {
		return
	}
	if s.state != state {
		if s.asked {
			s.asked = false
			r.asked--
		}
		r.waves[s.Wave].shift(s.state, state)
		r.tick(i, s.state, state)
	}
	if state.Final() {
		r.unfinished--
	}
	op := opOf(s.state, state)
	s.state, s.detail = state, detail
	r.emit(Event{Op: op, ID: s.ID, Layer: s.Layer, Wave: s.Wave, State: state, Unchanged: s.unchanged, Assumed: s.assumed && state == Ready, Health: s.grade, Detail: detail, Err: s.err})
}

// finish moves a step to a final state.
func (r *run) finish(i int, state State, detail string) {
	s := &r.steps[i]
	s.done = time.Now()
	if state.done() {
		s.last = nil
	}
	r.move(i, state, detail)
}

// fail ends a step without success, and skips what waits for it.
func (r *run) fail(i int, state State, cause error) {
	s := &r.steps[i]
	applied := s.state == Waiting
	r.failures++
	s.err = &Error{Wave: r.plan.WaveTitle(s.Wave), Op: opOf(s.state, state), ID: s.ID, Err: cause}
	r.finish(i, state, cause.Error())
	r.skipDependants(i, applied)
}

// timeOut ends a step because its time is over.
func (r *run) timeOut(i int, after time.Duration, scope string) {
	s := &r.steps[i]
	e := &TimeoutError{After: after, Scope: scope, Last: r.known(i), Unapplied: s.state != Waiting}
	if e.Unapplied {
		e.Last = r.unappliedBecause(i)
	}
	r.fail(i, TimedOut, e)
}

// unappliedBecause says what keeps a step from being applied.
func (r *run) unappliedBecause(i int) string {
	switch s := &r.steps[i]; {
	case s.refusal != nil:
		return r.explain(s.refusal).Error()
	case s.unserved > 0 && len(s.External) == 0 && len(s.MadeBy) == 0:
		return r.unserved(s.obj.GroupVersionKind(), 0).Error()
	case s.detail != "":
		return r.known(i)
	case s.sent.IsZero():
		return "its PATCH was not sent yet"
	}
	return "its PATCH was sent, and the API server has not answered it"
}

func (r *run) emit(e Event) {
	e.Time = time.Now()
	r.a.Events(e)
}
