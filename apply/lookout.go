package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/internal/diagnose"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
)

// The status of a workload that is not ready says little more than how many
// of its Pods are ready. So its Pods are watched once it has waited for a
// while, and the problems that keep them from starting are reported during
// the run. Where it has no Pods, its events are watched, which say why.
// Nothing is reported where that is forbidden.

// podCheckDelay is how long a workload waits before its Pods are watched, and
// podCheckInterval the interval at which they are examined.
const (
	podCheckDelay    = 3 * time.Second
	podCheckInterval = 2 * time.Second
)

// podWatch is one watch of Pods or events that explain why workloads are not
// ready.
type podWatch struct {
	steps  []int
	listed bool                                   // its initial list has arrived
	pods   map[types.UID]map[types.UID]watchedPod // by the uid of their controller
	events map[types.UID]*unstructured.Unstructured
	end    context.CancelFunc
}

// watchedPod is what is kept of a watched Pod.
type watchedPod struct {
	name    string
	ready   bool
	problem diagnose.PodProblem // set unless the Pod is ready
}

// podCheck is the state of examining one workload's Pods.
type podCheck struct {
	scheduled      bool
	ownerRequested bool          // its ReplicaSet was requested
	backoff        time.Duration // backoff before it is requested again
	owner          types.UID     // uid of the controller of its Pods; "" until it is known
	reported       problemReport // the problem that was reported last
	watching       []loop.WatchKey
}

// schedulePodCheck schedules examining the Pods of a waiting step.
func (r *run) schedulePodCheck(i int) {
	s := &r.steps[i]
	if r.applier.NoDiagnosis || r.applier.DryRun || s.podCheck.scheduled || !s.ID.MakesPods() {
		return
	}
	s.podCheck.scheduled = true
	r.After(podCheckDelay, func() { r.checkPods(i) })
}

// checkPods reports the current problem of a step's Pods, and schedules the next
// look.
func (r *run) checkPods(i int) {
	s := &r.steps[i]
	if s.state != Waiting || r.Stopping {
		r.stopPodWatches(i)
		return
	}
	r.After(podCheckInterval, func() { r.checkPods(i) })
	r.reportPodProblem(i)
}

// reportPodProblem reports what keeps a waiting step's Pods from starting, if that
// is a new problem.
func (r *run) reportPodProblem(i int) {
	if s := &r.steps[i]; s.state != Waiting || s.lastSeen == nil {
		return
	}
	if seen, known := r.podProblemOf(i); known && r.recordProblem(i, seen) {
		r.reportWaiting(i)
	}
}

// podProblemOf returns what keeps a step's Pods from starting, once that is
// known.
func (r *run) podProblemOf(i int) (seen problemReport, known bool) {
	if refused := replicaFailure(r.steps[i].lastSeen); refused != "" {
		return problemReport{cause: withoutQuoted(refused), text: refused}, true
	}
	if !r.hasPodOwner(i) {
		return seen, false
	}
	pods := r.podWatchFor(i, r.podsKey(i))
	if !pods.listed {
		return seen, false
	}
	return r.worstPodProblem(i, pods), true
}

// stopPodWatches ends the watches that only this step needed.
func (r *run) stopPodWatches(i int) {
	s := &r.steps[i]
	for _, key := range s.podCheck.watching {
		l := r.podWatches[key]
		l.steps = slices.DeleteFunc(l.steps, func(n int) bool { return n == i })
		if len(l.steps) == 0 {
			l.end()
			delete(r.podWatches, key)
		}
	}
	s.podCheck = podCheck{}
}

// podWatchFor returns the watch with a key, and starts it if needed.
func (r *run) podWatchFor(i int, key loop.WatchKey) *podWatch {
	s := &r.steps[i]
	l := r.podWatches[key]
	if l == nil {
		l = &podWatch{pods: map[types.UID]map[types.UID]watchedPod{}, events: map[types.UID]*unstructured.Unstructured{}}
		r.podWatches[key] = l
		l.end = r.StartWatch(r.applier.Cluster, key, kube.Kind{Resource: key.Resource, Namespaced: true}, func(c loop.KeyedWatchEvent) {
			l.handleWatchEvent(c.WatchEvent)
			for _, i := range l.steps {
				if c.Listed {
					r.reportPodProblem(i)
				}
			}
		})
	}
	if !slices.Contains(s.podCheck.watching, key) {
		s.podCheck.watching = append(s.podCheck.watching, key)
		l.steps = append(l.steps, i)
	}
	return l
}

// handleWatchEvent handles a change of Pods or events.
func (l *podWatch) handleWatchEvent(c kube.WatchEvent) {
	if c.Forbidden != nil {
		return
	}
	if c.Listed {
		l.listed = true
		clear(l.pods)
		clear(l.events)
	}
	for _, obj := range c.Objects {
		if obj.GetKind() == "Pod" {
			l.recordPod(obj, c.Deleted)
		} else if c.Deleted {
			delete(l.events, obj.GetUID())
		} else {
			l.events[obj.GetUID()] = obj
		}
	}
}

func (l *podWatch) recordPod(pod *unstructured.Unstructured, deleted bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return
	}
	if deleted {
		delete(l.pods[owner.UID], pod.GetUID())
		return
	}
	if l.pods[owner.UID] == nil {
		l.pods[owner.UID] = map[types.UID]watchedPod{}
	}
	trouble, bad := diagnose.PodProblemFrom(pod, time.Time{})
	l.pods[owner.UID][pod.GetUID()] = watchedPod{name: pod.GetName(), ready: !bad, problem: trouble}
}

// podsKey returns the watch for a step's Pods: only its own Pods where the
// namespace has one or two workloads, otherwise all Pods of the namespace.
func (r *run) podsKey(i int) loop.WatchKey {
	s := &r.steps[i]
	key := loop.WatchKey{Resource: kube.CoreKind("pods").Resource, Namespace: s.ID.Namespace}
	if r.workloadCounts[s.ID.Namespace] <= loop.MaxNamedWatches {
		key.Labels = diagnose.Selector(s.lastSeen)
	}
	return key
}

// hasPodOwner reports whether the controller of a step's Pods is known. For a
// Deployment it requests the ReplicaSet once the Deployment's generation has
// been observed.
func (r *run) hasPodOwner(i int) bool {
	s := &r.steps[i]
	switch {
	case s.ID.Kind != "Deployment":
		s.podCheck.owner = s.lastSeen.GetUID()
	case s.podCheck.owner == "" && !s.podCheck.ownerRequested && hasObserved(s.lastSeen):
		s.podCheck.ownerRequested = true
		q := r.requestOf(opPodOwner, i)
		q.obj = s.lastSeen
		r.submit(q)
	}
	return s.podCheck.owner != ""
}

func hasObserved(live *unstructured.Unstructured) bool {
	seen, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	return seen >= live.GetGeneration()
}

// currentReplicaSet finds the ReplicaSet that a Deployment is rolling out; nil when it
// cannot be determined.
func (a Applier) currentReplicaSet(ctx context.Context, deployment *unstructured.Unstructured) *unstructured.Unstructured {
	q := &diagnose.Diagnoser{Cluster: a.Cluster, RequestsLeft: 1}
	return q.ReplicaSet(ctx, deployment)
}

// handlePodOwner handles the ReplicaSet of a Deployment. Where it is not known
// yet, it is requested again with exponential backoff.
func (r *run) handlePodOwner(i int, maker *unstructured.Unstructured) {
	s := &r.steps[i]
	if maker != nil {
		s.podCheck.owner = maker.GetUID()
		r.reportPodProblem(i)
		return
	}
	s.podCheck.backoff = min(max(2*s.podCheck.backoff, podCheckInterval), maxBackoff)
	r.After(s.podCheck.backoff, func() { s.podCheck.ownerRequested = false })
}

// problemReport is a problem as it is reported; the zero value is none.
type problemReport struct {
	cause   string // equal for problems that are reported only once
	backoff bool   // the kubelet backs off before it retries: this was not the first time
	text    string
}

// worstPodProblem returns the worst problem that keeps a step's Pods from
// starting.
func (r *run) worstPodProblem(i int, seen *podWatch) problemReport {
	s := &r.steps[i]
	own := slices.Collect(maps.Values(seen.pods[s.podCheck.owner]))
	if worst, found := worstProblem(own, s.podCheck.reported.cause); found {
		return worst
	}
	lacking := int64(len(own)) < diagnose.DesiredPods(s.lastSeen) && !slices.ContainsFunc(own, func(p watchedPod) bool { return !p.ready })
	if s.ID.Kind == "Deployment" || len(own) > 0 && !lacking { // its conditions say more
		return problemReport{}
	}
	events := r.podWatchFor(i, loop.WatchKey{Resource: kube.CoreKind("events").Resource, Namespace: s.ID.Namespace, About: string(s.lastSeen.GetUID())})
	for _, e := range diagnose.NewestEvents(slices.Collect(maps.Values(events.events)), false) {
		return problemReport{cause: e.Reason + withoutQuoted(e.Message), text: "event " + e.Reason + ": " + e.Message}
	}
	return problemReport{}
}

// worstProblem returns the worst problem of Pods; the one that was reported last
// takes precedence as long as a Pod has it.
func worstProblem(pods []watchedPod, told string) (problemReport, bool) {
	bad := slices.DeleteFunc(slices.Clone(pods), func(p watchedPod) bool { return p.problem.Weight < diagnose.WeightWaiting })
	if len(bad) == 0 {
		return problemReport{}, false
	}
	worse := func(a, b watchedPod) int {
		again := func(p watchedPod) int {
			if p.problem.Cause == told {
				return 0
			}
			return 1
		}
		return cmp.Or(again(a)-again(b), b.problem.Weight-a.problem.Weight, cmp.Compare(a.name, b.name))
	}
	return slices.MinFunc(bad, worse).report(), true
}

// report describes the problem of a Pod. The termination message of the
// program is left out: it may contain anything.
func (p watchedPod) report() problemReport {
	t := p.problem
	text := t.Text
	if t.Message != "" && !t.FromProgram {
		text += ": " + t.Message
	}
	return problemReport{cause: t.Cause, backoff: t.Backoff, text: text + " (Pod " + p.name + ")"}
}

// replicaFailure returns why a workload's controller may not create Pods; ""
// when it may.
func replicaFailure(live *unstructured.Unstructured) string {
	status, _ := live.Object["status"].(map[string]any)
	c := diagnose.PodCondition(status, "ReplicaFailure")
	if c["status"] != "True" {
		return ""
	}
	return diagnose.TextOf(c["reason"]) + ": " + diagnose.TextOf(c["message"])
}

// withoutQuoted drops quoted names from a text: controllers may generate them
// anew.
func withoutQuoted(text string) string { return diagnose.Quoted().ReplaceAllString(text, "") }

// recordProblem records the problem to report, and reports whether it is a new one. A
// persistent problem is reported once, and once more when the kubelet starts
// to back off.
func (r *run) recordProblem(i int, seen problemReport) bool {
	told := &r.steps[i].podCheck.reported
	if seen.cause == told.cause && (told.backoff || !seen.backoff) {
		return false
	}
	*told = seen
	told.text = r.hideSecrets(seen.text)
	return true
}

// hideSecrets replaces the values of the stream's Secrets in a text.
func (r *run) hideSecrets(text string) string {
	if r.secrets == nil {
		all, _ := r.secretValues()
		known := diagnose.NewHiddenValues(all)
		r.secrets = &known
	}
	return diagnose.Clip(r.secrets.Replacer.Replace(diagnose.OneLine(text)), diagnose.TextWidth)
}

// reportWaiting reports what a step waits for, and the problem of its Pods.
func (r *run) reportWaiting(i int) {
	s := &r.steps[i]
	detail := s.reason
	if s.podCheck.reported.text != "" {
		detail += "; " + s.podCheck.reported.text
	}
	r.move(i, Waiting, detail)
}
