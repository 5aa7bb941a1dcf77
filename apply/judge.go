package apply

import (
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// evaluate moves a waiting resource according to the verdict on its live object.
func (r *run) evaluate(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	s.judged.Observe(live)
	a, again := r.judge().Assess(s.judged, live)
	r.setInGrace(i, false)
	if !r.applier.DryRun && r.columns.Await(i, s.kind, live, a) {
		request.Trim(live, s.manifest)
		s.lastSeen = live
		return
	}
	if !again.IsZero() || a.WithoutGeneration { // it may be judged again unchanged
		request.Trim(live, s.manifest)
	} else {
		request.TrimWorkload(live, s.manifest)
	}
	s.lastSeen, s.grade = live, a.Grade()
	r.setInGrace(i, a.NeedsGrace() && !again.IsZero())
	if request.HasStarted(s.ID, live) {
		r.passStarted(i)
		if a.Verdict == health.Progressing && r.awaitsHooks(i, live) {
			r.finishApplied(i, live)
			return
		}
	}
	r.evaluateAt(i, again)
	switch a.Verdict {
	case health.Ready:
		r.onReady(i, live, a)
	case health.Failed, health.Unknown: // RFC-DEPLOY-0001 §5: unknown counts as failure
		r.fail(i, event.Failed, event.WithCode(event.CodeUnhealthy, errors.New(failure(a))))
	case health.Deleting:
		r.fail(i, event.Failed, event.WithCode(event.CodeTerminating, errors.New("it was deleted while the run waited for it"+kube.DeletionBlockers(live))))
	default:
		s.unready = a.Reason
		r.still.Saw(time.Now(), s.ID.String(), wait.StateOf(live))
		r.reportUnready(i)
	}
}

// failure returns why an object fails. The message of a check that says Degraded alone need
// not sound like one.
func failure(a health.Assessment) string {
	if a.Grade() == health.GradeDegraded && !strings.Contains(strings.ToLower(a.Reason), "degraded") {
		return "Degraded: " + a.Reason
	}
	return a.Reason
}

// onReady handles an object that reports ready. A CRD is ready when discovery
// serves its kinds, a webhook configuration when its Services have endpoints.
func (r *run) onReady(i int, live *unstructured.Unstructured, a health.Assessment) {
	s := &r.steps[i]
	r.recordCRDProgress(i)
	if kinds := kube.DefinedKinds(live); len(kinds) > 0 && s.recreated {
		r.waitForNewKinds(i, kinds)
		return
	} else if len(kinds) > 0 {
		r.waitForKinds(i, kinds...)
		return
	}
	if len(a.Backends) > 0 && !r.applier.DryRun {
		s.backends = a.Backends
		r.endpoints.Await(i, s.backends[0])
		return
	}
	why := ""
	if a.Assumed {
		why, s.assumed = a.Reason, true
	}
	r.finishReady(i, why)
}

// evaluateAt judges a step's last seen object again at a given time.
func (r *run) evaluateAt(i int, at time.Time) {
	s := &r.steps[i]
	if at.IsZero() || s.graceTimerAt.Equal(at) {
		return
	}
	s.graceTimerAt = at
	r.After(time.Until(at), func() {
		if s := &r.steps[i]; s.state == event.Waiting && !r.kindWaiter.IsWaiting(i) {
			r.evaluate(i, s.lastSeen)
		}
	})
}

// recordChange records whether the PATCH created the object, changed its spec, or
// neither.
func (r *run) recordChange(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	s.judged.RecordUnchanged()
	if s.unchanged {
		return
	}
	s.judged.RecordChange(s.before, live, s.read.Known)
	if s.judged.IsNew && (s.ID.MakesPods() || s.ID.GroupKind() == "Pod") {
		r.madeWorkload = true
	}
}

// newPodWatcher returns the watcher for Pods of workloads that steps wait for.
func (r *run) newPodWatcher() *wait.PodWatcher {
	workloads := map[string]int{}
	for i := range r.steps {
		if id := r.steps[i].ID; id.MakesPods() {
			workloads[id.Namespace]++
		}
	}
	return wait.NewPodWatcher(&r.Loop, r.applier.Cluster, wait.PodRun{
		IsWaiting: func(i int) bool { return r.steps[i].state == event.Waiting },
		Live:      func(i int) *unstructured.Unstructured { return r.steps[i].lastSeen },
		OnProblem: r.reportWaiting,
		OnPod:     func(name, state string) { r.still.Saw(time.Now(), "Pod "+name, state) },
		Secrets: func() []string {
			all, _ := r.secretValues()
			return all
		},
		Workloads: workloads,
	})
}

// reportWaiting reports why a step is not ready, and the problem of its Pods.
func (r *run) reportWaiting(i int) {
	detail := r.steps[i].unready
	if problem := r.podWatcher.Problem(i); problem != "" {
		detail += "; " + problem
	}
	r.wait(i, event.Waiting, event.WaitReadiness, detail)
}

// newEndpointWaiter returns the waiter for the Services of webhook configurations, one after
// the other.
func (r *run) newEndpointWaiter() *wait.EndpointWaiter {
	return wait.NewEndpointWaiter(&r.Loop, r.applier.Cluster, wait.EndpointRun{
		WaitsFor: func(i int, service object.ID) bool {
			s := &r.steps[i]
			return s.state == event.Waiting && len(s.backends) > 0 && s.backends[0] == service
		},
		OnReady: func(i int) {
			s := &r.steps[i]
			if s.backends = s.backends[1:]; len(s.backends) == 0 {
				r.finishReady(i, "")
				return
			}
			r.endpoints.Await(i, s.backends[0])
		},
		OnUnready: func(i int, detail string) {
			r.still.Saw(time.Now(), r.steps[i].ID.String(), detail)
			r.wait(i, event.Waiting, event.WaitEndpoints, detail)
		},
	})
}

// judge returns the judge of live objects.
func (r *run) judge() request.Judge {
	acting := r.applier.Schedule == Waves && r.waves[max(r.wave, 0)].unapplied > 0 || r.pendingRequests > 0
	return request.Judge{Health: r.applier.Health, Grace: r.applier.StatusGrace, Acted: r.hasActed, Acting: acting, Unneeded: r.graceIsOver()}
}
