package apply

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
)

// judge moves a waiting resource by the verdict on its live object.
func (r *run) judge(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	a := r.assess(i, live)
	if a.NoStatus || a.Undated { // it may be judged again as it stands
		slim(live, s.obj)
	} else {
		slimWorkload(live, s.obj)
	}
	s.last = live
	switch a.Verdict {
	case health.Ready:
		r.believe(i, live, a)
	case health.Failed, health.Unknown: // RFC-DEPLOY-0001 §5: unknown counts as failure
		r.fail(i, Failed, errors.New(a.Reason))
	case health.Deleting:
		r.fail(i, Failed, errors.New("somebody deleted it while we waited for it"+HeldBy(live)))
	default:
		r.move(i, Waiting, a.Reason)
	}
}

// assess is the verdict on a live object, as far as it may be believed by now.
// A custom resource without a status is given time to get one, and one whose
// status may still be about the past is given time to fail.
func (r *run) assess(i int, live *unstructured.Unstructured) health.Assessment {
	a := r.a.Health.Assess(live)
	s := &r.steps[i]
	switch {
	case a.Held && health.AsksToBeHeld(s.obj):
		return r.a.Health.AfterGrace(a)
	case a.NoStatus && (!s.kind.HasStatus || time.Since(s.mute) >= r.a.StatusGrace):
		return r.a.Health.AfterGrace(a)
	case a.Verdict == health.Failed && a.Undated && !r.graceOver(i):
		a.Verdict = health.Progressing
	case !a.NoStatus:
		return a
	}
	if !s.graced {
		s.graced = true
		since := s.appliedAt
		if a.NoStatus {
			since = s.mute
		}
		r.after(time.Until(since.Add(r.a.StatusGrace)), func() {
			if s := &r.steps[i]; s.state == Waiting && s.unserved == 0 {
				r.judge(i, s.last)
			}
		})
	}
	return a
}

// muteSince is from when on an object without a status could have got one: since
// it was made, where this run has found all as it was applied last, and so has
// started no controller either.
func (r *run) muteSince(i int, live *unstructured.Unstructured) time.Time {
	s := &r.steps[i]
	made := live.GetCreationTimestamp().Time
	if s.unchanged && !r.wrote && !made.IsZero() && made.Before(s.appliedAt) {
		return made
	}
	return s.appliedAt
}

func (r *run) graceOver(i int) bool {
	return time.Since(r.steps[i].appliedAt) >= r.a.StatusGrace
}

// believe goes on with an object that says it is ready: a CRD when discovery
// serves its kinds, a webhook configuration when its Services have endpoints.
func (r *run) believe(i int, live *unstructured.Unstructured, a health.Assessment) {
	if kinds := definedKinds(live); len(kinds) > 0 {
		r.awaitKinds(i, kinds...)
		return
	}
	s := &r.steps[i]
	if len(a.Backends) > 0 && !r.a.DryRun {
		s.backends = a.Backends
		r.awaitBackend(i)
		return
	}
	why := ""
	if a.Assumed {
		why = a.Reason
	}
	r.ready(i, why)
}
