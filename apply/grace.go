package apply

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// A status describes a spec, and not always the newest one. What a custom
// resource says right after this run changed it may be about the spec before, and
// what it says first of all may be nothing. Such a status is given the status
// grace, and is believed as it stands when that is over.

// assess is the verdict on a live object, as far as it may be believed by now;
// again is when it must be judged again as it stands, zero for never.
func (r *run) assess(i int, live *unstructured.Unstructured) (a health.Assessment, again time.Time) {
	a = r.a.Health.Assess(live)
	s := &r.steps[i]
	if a.Held && health.AsksToBeHeld(s.obj) {
		return r.a.Health.AfterGrace(a), time.Time{}
	}
	var ends time.Time
	stale := r.stale(i, live, a)
	switch {
	case a.NoStatus:
		if s.kind.HasStatus {
			ends = s.mute.Add(r.a.StatusGrace)
		}
	case a.Neutral:
		ends = r.neutralSince(i, live).Add(r.a.StatusGrace)
	case stale, r.mayStillPass(i, a):
		ends = s.appliedAt.Add(r.a.StatusGrace)
	default:
		return a, time.Time{}
	}
	switch waits := time.Now().Before(ends); {
	case waits && stale && a.Verdict == health.Ready:
		a.Reason += "; it may be about the spec before the change"
		fallthrough
	case waits:
		a.Verdict = health.Progressing
		return a, ends
	case stale:
		return r.a.Health.Unconfirmed(a), time.Time{}
	}
	return r.a.Health.AfterGrace(a), time.Time{}
}

// stale reports whether a verdict may be about the spec before: this run changed
// the spec, the status does not say which generation it is about, and it is still
// what it was in the answer to the PATCH.
func (r *run) stale(i int, live *unstructured.Unstructured, a health.Assessment) bool {
	s := &r.steps[i]
	if !a.Undated || !s.specChanged || !believable(a.Verdict) || !reflect.DeepEqual(live.Object["status"], s.answer) {
		return false
	}
	return r.isFromStatus(live, a)
}

// isFromStatus reports whether a verdict comes from the status of an object.
func (r *run) isFromStatus(live *unstructured.Unstructured, a health.Assessment) bool {
	bare := &unstructured.Unstructured{Object: make(map[string]any, len(live.Object))}
	for key, value := range live.Object {
		if key != "status" {
			bare.Object[key] = value
		}
	}
	without := r.a.Health.Assess(bare)
	return without.Verdict != a.Verdict || without.Rule != a.Rule || without.Reason != a.Reason
}

// mayStillPass reports whether a failure may still pass: that of a custom resource
// whose controller has only just begun with what this run sent, unless the
// controller has given up on this very generation.
func (r *run) mayStillPass(i int, a health.Assessment) bool {
	s := &r.steps[i]
	switch {
	case a.Verdict == health.Failed && a.Undated: // also of what was not sent: an earlier wave may cure it
		return true
	case a.Final || health.IsNative(s.obj.GroupVersionKind().Group) || !s.isNew && !s.specChanged:
		return false
	}
	return a.Verdict == health.Failed || a.Verdict == health.Unknown
}

// believable reports whether a verdict would end the wait.
func believable(v health.Verdict) bool {
	return v == health.Ready || v == health.Failed || v == health.Unknown
}

// judgeLater judges a step's object once more at a time, as it stands then.
func (r *run) judgeLater(i int, at time.Time) {
	s := &r.steps[i]
	if at.IsZero() || s.graced.Equal(at) {
		return
	}
	s.graced = at
	r.after(time.Until(at), func() {
		if s := &r.steps[i]; s.state == Waiting && s.unserved == 0 {
			r.judge(i, s.last)
		}
	})
}

// muteSince is from when on an object without a status could have got one: since
// it was made, where it is as it was applied last and this run has made no workload
// that may be its controller.
func (r *run) muteSince(i int, live *unstructured.Unstructured) time.Time {
	s := &r.steps[i]
	made := live.GetCreationTimestamp().Time
	if s.unchanged && !r.madeWorkload && !made.IsZero() && made.Before(s.appliedAt) {
		return made
	}
	return s.appliedAt
}

// neutralSince is from when on a controller could have said more than nothing:
// since this run sent the object, or, where that changed nothing, since the object
// was made.
func (r *run) neutralSince(i int, live *unstructured.Unstructured) time.Time {
	s := &r.steps[i]
	if made := live.GetCreationTimestamp().Time; !s.isNew && !s.specChanged && !made.IsZero() && made.Before(s.appliedAt) {
		return made
	}
	return s.appliedAt
}

// noteChange records what the answer to a PATCH did to the object: it made the
// object, or changed its spec, or neither.
func (r *run) noteChange(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	s.isNew, s.specChanged, s.answer = false, false, nil
	if s.unchanged {
		return
	}
	now := identityOf(live)
	switch before := s.before; {
	case before.uid != now.uid: // where nothing could be read before, its age and generation tell
		s.isNew = s.known || time.Since(live.GetCreationTimestamp().Time) < time.Minute
		s.specChanged = now.generation > 1
	case now.generation == 0: // it counts none
		s.specChanged = before.version != now.version
	default:
		s.specChanged = before.generation != now.generation
	}
	if s.isNew && (makesPods(s.ID) || s.ID.GroupKind() == "Pod") {
		r.madeWorkload = true
	}
	if s.specChanged && !health.IsNative(s.obj.GroupVersionKind().Group) {
		s.answer = live.Object["status"]
	}
}

func identityOf(live *unstructured.Unstructured) identity {
	if live == nil {
		return identity{}
	}
	return identity{uid: string(live.GetUID()), generation: live.GetGeneration(), version: live.GetResourceVersion()}
}
