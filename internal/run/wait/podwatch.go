package wait

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	judgestatus "github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// checkDelay is how long a workload waits before its Pods are watched, and
// checkInterval the interval at which they are examined.
const (
	checkDelay    = 3 * time.Second
	checkInterval = 2 * time.Second
)

// PodRun is the run whose steps wait for workloads.
type PodRun struct {
	IsWaiting func(step int) bool
	Live      func(step int) *unstructured.Unstructured // the workload as last seen; nil when it is gone
	OnProblem func(step int)                            // Problem has changed
	OnPod     func(name, state string)                  // a Pod is in a state, see StateOfPod
	Secrets   func() []string                           // the values that no message shows
	Workloads map[string]int                            // number of steps that create Pods, by namespace
}

// PodWatcher examines the Pods of workloads that are waited for.
type PodWatcher struct {
	run     PodRun
	loop    *loop.Loop
	cluster kube.Cluster
	watches map[loop.WatchKey]*watch // of Pods and events
	checks  map[int]*check           // by step
	secrets *redact.Replacer         // of the run's secrets; nil until needed
}

// NewPodWatcher returns a PodWatcher for the steps of a run.
func NewPodWatcher(l *loop.Loop, cluster kube.Cluster, run PodRun) *PodWatcher {
	return &PodWatcher{run: run, loop: l, cluster: cluster, watches: map[loop.WatchKey]*watch{}, checks: map[int]*check{}}
}

// watch is one watch of Pods or events that explain why workloads are not
// ready.
type watch struct {
	steps  []int
	listed bool                                   // its initial list has arrived
	pods   map[types.UID]map[types.UID]watchedPod // by the uid of their controller
	events map[types.UID]*unstructured.Unstructured
	end    context.CancelFunc
}

// watchedPod is the kept part of a watched Pod.
type watchedPod struct {
	name     string
	ready    bool
	revision string              // of its workload; "" if unknown
	kept     string              // why it is not replaced although that is an older one; "" if it is
	problem  diagnose.PodProblem // set unless the Pod is ready
}

// check is the state of examining one workload's Pods.
type check struct {
	step           int
	id             object.ID
	ownerRequested bool          // its ReplicaSet was requested
	backoff        time.Duration // backoff before it is requested again
	owner          types.UID     // uid of the controller of its Pods; "" until it is known
	reported       problemReport // the problem that was reported last
	watching       []loop.WatchKey
}

// Start schedules examining the Pods of a step that waits for a workload, once.
func (w *PodWatcher) Start(step int, id object.ID) {
	if w.checks[step] != nil || !id.MakesPods() {
		return
	}
	c := &check{step: step, id: id}
	w.checks[step] = c
	w.loop.After(checkDelay, func() { w.check(c) })
}

// Problem returns the problem of a step's Pods that was found last; "" for none.
func (w *PodWatcher) Problem(step int) string {
	if c := w.checks[step]; c != nil {
		return c.reported.text
	}
	return ""
}

// check reports the current problem of a step's Pods, and schedules the next
// look.
func (w *PodWatcher) check(c *check) {
	if !w.run.IsWaiting(c.step) || w.loop.Stopping {
		w.stop(c)
		return
	}
	w.loop.After(checkInterval, func() { w.check(c) })
	w.report(c)
}

// report reports the problem that keeps a waiting step's Pods from starting, if
// it is new.
func (w *PodWatcher) report(c *check) {
	live := w.run.Live(c.step)
	if !w.run.IsWaiting(c.step) || live == nil {
		return
	}
	if seen, known := w.problemOf(c, live); known && w.record(c, seen) {
		w.run.OnProblem(c.step)
	}
}

// problemOf returns the problem of a step's Pods, once it is known.
func (w *PodWatcher) problemOf(c *check, live *unstructured.Unstructured) (seen problemReport, known bool) {
	if refused := judgestatus.ReplicaFailure(live); refused != "" {
		return problemReport{cause: withoutQuoted(refused), text: refused}, true
	}
	if !w.hasOwner(c, live) {
		return seen, false
	}
	pods := w.watchFor(c, w.podsKey(c, live))
	if !pods.listed {
		return seen, false
	}
	return w.worstProblemOf(c, live, pods), true
}

// stop ends the watches that only this step needed.
func (w *PodWatcher) stop(c *check) {
	for _, key := range c.watching {
		l := w.watches[key]
		l.steps = slices.DeleteFunc(l.steps, func(n int) bool { return n == c.step })
		if len(l.steps) == 0 {
			l.end()
			delete(w.watches, key)
		}
	}
	delete(w.checks, c.step)
}

// watchFor returns the watch with a key, and starts it if needed.
func (w *PodWatcher) watchFor(c *check, key loop.WatchKey) *watch {
	l := w.watches[key]
	if l == nil {
		l = &watch{pods: map[types.UID]map[types.UID]watchedPod{}, events: map[types.UID]*unstructured.Unstructured{}}
		w.watches[key] = l
		l.end = w.loop.StartWatch(w.cluster, key, kube.Kind{Resource: key.Resource, Namespaced: true}, func(e loop.KeyedWatchEvent) {
			l.handleWatchEvent(e.WatchEvent, func(pod, state string) {
				if w.isOfStep(l, pod) {
					w.run.OnPod(pod, state)
				}
			})
			if !e.Listed {
				return
			}
			for _, i := range l.steps {
				w.report(w.checks[i])
			}
		})
	}
	if !slices.Contains(c.watching, key) {
		c.watching = append(c.watching, key)
		l.steps = append(l.steps, c.step)
	}
	return l
}

// isOfStep reports whether a Pod is named after a workload that is waited for.
func (w *PodWatcher) isOfStep(l *watch, pod string) bool {
	return slices.ContainsFunc(l.steps, func(i int) bool { return strings.HasPrefix(pod, w.checks[i].id.Name+"-") })
}

// handleWatchEvent handles a change of Pods or events.
func (l *watch) handleWatchEvent(c kube.WatchEvent, onPod func(name, state string)) {
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
			onPod(obj.GetName(), StateOfPod(obj))
		} else if c.Deleted {
			delete(l.events, obj.GetUID())
		} else {
			l.events[obj.GetUID()] = obj
		}
	}
}

func (l *watch) recordPod(pod *unstructured.Unstructured, deleted bool) {
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
	l.pods[owner.UID][pod.GetUID()] = watchedPod{name: pod.GetName(), ready: !bad, revision: diagnose.RevisionOf(pod), problem: trouble}
}

// podsKey returns the watch for a step's Pods: only its own Pods where the
// namespace has one or two workloads, otherwise all Pods of the namespace.
func (w *PodWatcher) podsKey(c *check, live *unstructured.Unstructured) loop.WatchKey {
	key := loop.WatchKey{Resource: kube.CoreKind("pods").Resource, Namespace: c.id.Namespace}
	if w.run.Workloads[c.id.Namespace] <= loop.MaxNamedWatches {
		key.Labels = diagnose.Selector(live)
	}
	return key
}

// hasOwner reports whether the controller of a step's Pods is known. For a
// Deployment it requests the ReplicaSet once the Deployment's generation has
// been observed.
func (w *PodWatcher) hasOwner(c *check, live *unstructured.Unstructured) bool {
	switch {
	case c.id.Kind != "Deployment":
		c.owner = live.GetUID()
	case c.owner == "" && !c.ownerRequested && hasObserved(live):
		c.ownerRequested = true
		cluster := w.cluster
		w.loop.Enqueue(func(ctx context.Context) func() {
			q := &diagnose.Diagnoser{Cluster: cluster, RequestsLeft: 1}
			replicas := q.ReplicaSet(ctx, live)
			return func() { w.handleOwner(c, replicas) }
		})
	}
	return c.owner != ""
}

func hasObserved(live *unstructured.Unstructured) bool {
	seen, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	return seen >= live.GetGeneration()
}

// handleOwner handles the ReplicaSet that a Deployment is rolling out. Where it is not known
// yet, it is requested again with exponential backoff.
func (w *PodWatcher) handleOwner(c *check, replicas *unstructured.Unstructured) {
	if w.checks[c.step] != c {
		return // it is examined no longer
	}
	if replicas != nil {
		c.owner = replicas.GetUID()
		w.report(c)
		return
	}
	c.backoff = min(max(2*c.backoff, checkInterval), loop.MaxBackoff)
	w.loop.After(c.backoff, func() { c.ownerRequested = false })
}

// problemReport is a problem as it is reported; the zero value is none.
type problemReport struct {
	cause      string // equal for problems that are reported only once
	backingOff bool   // the kubelet backs off before it retries: this was not the first time
	text       string
}

// worstProblemOf returns the worst problem that keeps a step's Pods from
// starting.
func (w *PodWatcher) worstProblemOf(c *check, live *unstructured.Unstructured, seen *watch) problemReport {
	own := slices.Collect(maps.Values(seen.pods[c.owner]))
	for i := range own {
		own[i].kept = diagnose.OldRevision(live, own[i].name, own[i].revision)
	}
	if worst, found := worstProblem(own, c.reported.cause); found {
		return worst
	}
	lacking := int64(len(own)) < diagnose.DesiredPods(live) && !slices.ContainsFunc(own, func(p watchedPod) bool { return !p.ready })
	if c.id.Kind == "Deployment" || len(own) > 0 && !lacking { // its conditions say more
		return problemReport{}
	}
	events := w.watchFor(c, loop.WatchKey{Resource: kube.CoreKind("events").Resource, Namespace: c.id.Namespace, About: string(live.GetUID())})
	for _, e := range diagnose.NewestEvents(slices.Collect(maps.Values(events.events)), false) {
		return problemReport{cause: e.Reason + withoutQuoted(e.Message), text: "event " + e.Reason + ": " + e.Message}
	}
	return problemReport{}
}

// worstProblem returns the worst problem of Pods; the one that was reported last
// takes precedence as long as a Pod has it.
func worstProblem(pods []watchedPod, reported string) (problemReport, bool) {
	bad := slices.DeleteFunc(slices.Clone(pods), func(p watchedPod) bool { return p.problem.Weight < diagnose.WeightWaiting })
	if len(bad) == 0 {
		return problemReport{}, false
	}
	worse := func(a, b watchedPod) int {
		again := func(p watchedPod) int {
			if p.problem.Cause+p.kept == reported {
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
	text := t.Lasting() + " (Pod " + p.name + ")"
	if p.kept != "" {
		text += "; " + p.kept
	}
	return problemReport{cause: t.Cause + p.kept, backingOff: t.BackingOff, text: text}
}

// withoutQuoted drops quoted names from a text: controllers may generate new
// ones.
func withoutQuoted(text string) string { return diagnose.Quoted().ReplaceAllString(text, "") }

// record records the problem to report, and reports whether it is a new one. A
// persistent problem is reported once, and once more when the kubelet starts
// to back off.
func (w *PodWatcher) record(c *check, seen problemReport) bool {
	last := &c.reported
	if seen.cause == last.cause && (last.backingOff || !seen.backingOff) {
		return false
	}
	*last = seen
	last.text = w.hideSecrets(seen.text)
	return true
}

// ForgetSecrets makes the watcher ask for the run's secrets again.
func (w *PodWatcher) ForgetSecrets() { w.secrets = nil }

// hideSecrets replaces the values of the stream's Secrets in a text.
func (w *PodWatcher) hideSecrets(text string) string {
	if w.secrets == nil {
		w.secrets = redact.NewReplacer(w.run.Secrets())
	}
	return plain.Clip(w.secrets.Text(plain.OneLine(text)), diagnose.TextWidth)
}
