package apply

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// A status describes a spec, and not always the newest one. The status of a
// custom resource right after this run changed it may describe the spec
// before, and the first status may say nothing. The run waits up to the
// status grace for a better one, and then uses the status as it is.

// assess returns the verdict on a live object as far as it can be trusted
// now. again is when to judge it again even if it does not change; zero for
// never.
func (r *run) assess(i int, live *unstructured.Unstructured) (a health.Assessment, again time.Time) {
	a = r.applier.Health.Assess(live)
	s := &r.steps[i]
	if a.SuspendedBySpec && health.SuspendedByManifest(s.manifest) {
		return r.applier.Health.AfterGrace(a), time.Time{}
	}
	var ends time.Time
	stale := r.isStale(i, live, a)
	switch {
	case a.NoStatus:
		if s.kind.HasStatus {
			ends = s.statusGraceFrom.Add(r.applier.StatusGrace)
		}
	case a.Inconclusive:
		ends = r.neutralGraceStart(i, live).Add(r.applier.StatusGrace)
	case stale, r.mayBeTransient(i, a):
		ends = s.appliedAt.Add(r.applier.StatusGrace)
	default:
		return a, time.Time{}
	}
	switch waits := time.Now().Before(ends); {
	case waits && stale && a.Verdict == health.Ready:
		a.Reason += "; it may refer to the spec before the change"
		fallthrough
	case waits:
		a.Verdict = health.Progressing
		return a, ends
	case stale:
		return r.applier.Health.Unconfirmed(a), time.Time{}
	}
	return r.applier.Health.AfterGrace(a), time.Time{}
}

// isStale reports whether a verdict may describe the spec before the change:
// this run changed the spec, the status has no observedGeneration, and it is
// the same as in the answer to the PATCH.
func (r *run) isStale(i int, live *unstructured.Unstructured, a health.Assessment) bool {
	s := &r.steps[i]
	if !a.WithoutGeneration || !s.specChanged || !endsWait(a.Verdict) || !reflect.DeepEqual(live.Object["status"], s.patchStatus) {
		return false
	}
	return r.isFromStatus(live, a)
}

// isFromStatus reports whether a verdict depends on the status of an object.
func (r *run) isFromStatus(live *unstructured.Unstructured, a health.Assessment) bool {
	bare := &unstructured.Unstructured{Object: make(map[string]any, len(live.Object))}
	for key, value := range live.Object {
		if key != "status" {
			bare.Object[key] = value
		}
	}
	without := r.applier.Health.Assess(bare)
	return without.Verdict != a.Verdict || without.Rule != a.Rule || without.Reason != a.Reason
}

// mayBeTransient reports whether a failure may be transient: the controller of
// a custom resource may have only started on what this run sent. It is not
// when the controller reports the failure as final for this generation.
func (r *run) mayBeTransient(i int, a health.Assessment) bool {
	s := &r.steps[i]
	switch {
	case a.Verdict == health.Failed && a.WithoutGeneration: // unchanged objects too: an earlier wave may repair them
		return true
	case a.Final || object.IsNative(s.manifest.GroupVersionKind().Group) || !s.isNew && !s.specChanged:
		return false
	}
	return a.Verdict == health.Failed || a.Verdict == health.Unknown
}

// endsWait reports whether a verdict ends the wait.
func endsWait(v health.Verdict) bool {
	return v == health.Ready || v == health.Failed || v == health.Unknown
}

// evaluateAt judges a step's last seen object again at a given time.
func (r *run) evaluateAt(i int, at time.Time) {
	s := &r.steps[i]
	if at.IsZero() || s.graceTimerAt.Equal(at) {
		return
	}
	s.graceTimerAt = at
	r.After(time.Until(at), func() {
		if s := &r.steps[i]; s.state == Waiting && s.missingKinds == 0 {
			r.evaluate(i, s.lastSeen)
		}
	})
}

// statusGraceStart returns the time since which an object without a status could
// have had one: its creation if it is unchanged and this run created no
// workload that may be its controller, otherwise the time when it was
// applied.
func (r *run) statusGraceStart(i int, live *unstructured.Unstructured) time.Time {
	s := &r.steps[i]
	made := live.GetCreationTimestamp().Time
	if s.unchanged && !r.madeWorkload && !made.IsZero() && made.Before(s.appliedAt) {
		return made
	}
	return s.appliedAt
}

// neutralGraceStart returns the time since which a controller could have written a
// meaningful status: its creation if this run changed nothing in it,
// otherwise the time when it was applied.
func (r *run) neutralGraceStart(i int, live *unstructured.Unstructured) time.Time {
	s := &r.steps[i]
	if made := live.GetCreationTimestamp().Time; !s.isNew && !s.specChanged && !made.IsZero() && made.Before(s.appliedAt) {
		return made
	}
	return s.appliedAt
}

// recordChange records what the PATCH did to the object: created it, changed
// its spec, or neither.
func (r *run) recordChange(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	s.isNew, s.specChanged, s.patchStatus = false, false, nil
	if s.unchanged {
		return
	}
	now := identityOf(live)
	switch before := s.before; {
	case before.uid != now.uid: // where it could not be read before, decide by age and generation
		s.isNew = s.existenceKnown || time.Since(live.GetCreationTimestamp().Time) < time.Minute
		s.specChanged = now.generation > 1
	case now.generation == 0: // the kind has no generations
		s.specChanged = before.version != now.version
	default:
		s.specChanged = before.generation != now.generation
	}
	if s.isNew && (s.ID.MakesPods() || s.ID.GroupKind() == "Pod") {
		r.madeWorkload = true
	}
	if s.specChanged && !object.IsNative(s.manifest.GroupVersionKind().Group) {
		s.patchStatus = live.Object["status"]
	}
}

func identityOf(live *unstructured.Unstructured) identity {
	if live == nil {
		return identity{}
	}
	return identity{uid: string(live.GetUID()), generation: live.GetGeneration(), version: live.GetResourceVersion()}
}
