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

	"github.com/ordapply/ordapply/object"
)

// A workload that waits longer than usual says no more than how many of its Pods
// are ready. So its Pods are watched from then on, and what keeps one of them from
// starting is reported while the run waits. Where it has no Pods, the events that
// say why are watched. Nothing is reported where that is forbidden.

// lookAfter is how long a workload waits before its Pods are looked at, and
// lookEvery the pause between two looks at what their watch has seen.
const (
	lookAfter = 3 * time.Second
	lookEvery = 2 * time.Second
)

// lookout is one watch for what troubles workloads.
type lookout struct {
	steps  []int
	listed bool                                // what there was when it began has been seen
	pods   map[types.UID]map[types.UID]seenPod // by their controller
	events map[types.UID]*unstructured.Unstructured
	end    context.CancelFunc
}

// seenPod is what is kept of a Pod that a watch saw.
type seenPod struct {
	name    string
	ready   bool
	trouble podTrouble // that of a Pod that is not ready
}

// podLook is what one workload knows of its Pods.
type podLook struct {
	looking  bool
	asked    bool          // for its maker
	pause    time.Duration // before that is asked for again
	maker    types.UID     // that makes its Pods; "" until that is known
	told     sighting      // that was reported last
	watching []watchKey
}

// lookAtPods begins to look at the Pods of a step that waits, after a while.
func (r *run) lookAtPods(i int) {
	s := &r.steps[i]
	if r.a.NoDiagnosis || r.a.DryRun || s.pods.looking || !makesPods(s.ID) {
		return
	}
	s.pods.looking = true
	r.after(lookAfter, func() { r.look(i) })
}

// makesPods reports whether an object makes Pods of its own.
func makesPods(id object.ID) bool {
	switch id.GroupKind() {
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "ReplicationController":
		return true
	}
	return false
}

// look reads what is known by now, and looks again later.
func (r *run) look(i int) {
	s := &r.steps[i]
	if s.state != Waiting || r.stopping {
		r.lookAway(i)
		return
	}
	r.after(lookEvery, func() { r.look(i) })
	r.tellTrouble(i)
}

// tellTrouble says what keeps a waiting step's Pods from starting, where that is
// another trouble than was told before.
func (r *run) tellTrouble(i int) {
	if s := &r.steps[i]; s.state != Waiting || s.last == nil {
		return
	}
	if seen, known := r.troubleOf(i); known && r.note(i, seen) {
		r.tellWaiting(i)
	}
}

// troubleOf is what keeps a step's Pods from starting, once that is known.
func (r *run) troubleOf(i int) (seen sighting, known bool) {
	if refused := replicaFailure(r.steps[i].last); refused != "" {
		return sighting{cause: bareText(refused), text: refused}, true
	}
	if !r.knowsMaker(i) {
		return seen, false
	}
	pods := r.lookout(i, r.podsKey(i))
	if !pods.listed {
		return seen, false
	}
	return r.troubleAmong(i, pods), true
}

// lookAway ends the watches that nothing else needs.
func (r *run) lookAway(i int) {
	s := &r.steps[i]
	for _, key := range s.pods.watching {
		l := r.lookouts[key]
		l.steps = slices.DeleteFunc(l.steps, func(n int) bool { return n == i })
		if len(l.steps) == 0 {
			l.end()
			delete(r.lookouts, key)
		}
	}
	s.pods = podLook{}
}

// lookout is the watch with a key, which it begins if needed.
func (r *run) lookout(i int, key watchKey) *lookout {
	s := &r.steps[i]
	l := r.lookouts[key]
	if l == nil {
		l = &lookout{pods: map[types.UID]map[types.UID]seenPod{}, events: map[types.UID]*unstructured.Unstructured{}}
		r.lookouts[key] = l
		l.end = r.follow(r.a.Cluster, key, Kind{Resource: key.resource, Namespaced: true}, func(c sight) {
			l.see(c.Change)
			for _, i := range l.steps {
				if c.Listed {
					r.tellTrouble(i)
				}
			}
		})
	}
	if !slices.Contains(s.pods.watching, key) {
		s.pods.watching = append(s.pods.watching, key)
		l.steps = append(l.steps, i)
	}
	return l
}

// see takes a change of Pods or events.
func (l *lookout) see(c Change) {
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
			l.seePod(obj, c.Deleted)
		} else if c.Deleted {
			delete(l.events, obj.GetUID())
		} else {
			l.events[obj.GetUID()] = obj
		}
	}
}

func (l *lookout) seePod(pod *unstructured.Unstructured, deleted bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return
	}
	if deleted {
		delete(l.pods[owner.UID], pod.GetUID())
		return
	}
	if l.pods[owner.UID] == nil {
		l.pods[owner.UID] = map[types.UID]seenPod{}
	}
	trouble, bad := troubleOf(pod, time.Time{})
	l.pods[owner.UID][pod.GetUID()] = seenPod{name: pod.GetName(), ready: !bad, trouble: trouble}
}

// podsKey is the watch for a step's Pods: for its own where there are one or two
// workloads in the namespace, else for all there are.
func (r *run) podsKey(i int) watchKey {
	s := &r.steps[i]
	key := watchKey{resource: coreResource("pods"), namespace: s.ID.Namespace}
	if r.workloads[s.ID.Namespace] <= few {
		key.labels = selector(s.last)
	}
	return key
}

// knowsMaker reports whether it is known what makes a step's Pods. For a Deployment
// that is asked for once its controller has seen it.
func (r *run) knowsMaker(i int) bool {
	s := &r.steps[i]
	switch {
	case s.ID.Kind != "Deployment":
		s.pods.maker = s.last.GetUID()
	case s.pods.maker == "" && !s.pods.asked && hasObserved(s.last):
		s.pods.asked = true
		q := r.requestOf(opMaker, i)
		q.obj = s.last
		r.hand(q)
	}
	return s.pods.maker != ""
}

func hasObserved(live *unstructured.Unstructured) bool {
	seen, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	return seen >= live.GetGeneration()
}

// makerOf finds the ReplicaSet that a Deployment is rolling out; nil when it cannot
// be told.
func (a Applier) makerOf(ctx context.Context, deployment *unstructured.Unstructured) *unstructured.Unstructured {
	q := &inquiry{cluster: a.Cluster, left: 1}
	return q.replicaSet(ctx, deployment)
}

// foundMaker takes what makes the Pods of a Deployment. Where it is not known by
// now, it is asked for again, after pauses that double.
func (r *run) foundMaker(i int, maker *unstructured.Unstructured) {
	s := &r.steps[i]
	if maker != nil {
		s.pods.maker = maker.GetUID()
		r.tellTrouble(i)
		return
	}
	s.pods.pause = min(max(2*s.pods.pause, lookEvery), longestPause)
	r.after(s.pods.pause, func() { s.pods.asked = false })
}

// sighting is a trouble as it is reported; the zero value is none.
type sighting struct {
	cause   string // the same for what is reported once
	backoff bool   // the kubelet pauses before it tries again: it was not the first time
	text    string
}

// troubleAmong is the worst that keeps a step's Pods from starting.
func (r *run) troubleAmong(i int, seen *lookout) sighting {
	s := &r.steps[i]
	own := slices.Collect(maps.Values(seen.pods[s.pods.maker]))
	if worst, found := worstOf(own, s.pods.told.cause); found {
		return worst
	}
	lacking := int64(len(own)) < wantedPods(s.last) && !slices.ContainsFunc(own, func(p seenPod) bool { return !p.ready })
	if s.ID.Kind == "Deployment" || len(own) > 0 && !lacking { // whose conditions say more
		return sighting{}
	}
	events := r.lookout(i, watchKey{resource: coreResource("events"), namespace: s.ID.Namespace, about: string(s.last.GetUID())})
	for _, e := range newestEvents(slices.Collect(maps.Values(events.events)), false) {
		return sighting{cause: e.reason + bareText(e.message), text: "event " + e.reason + ": " + e.message}
	}
	return sighting{}
}

// worstOf is the worst trouble of Pods; where that which was told before is still
// one of them, it is that.
func worstOf(pods []seenPod, told string) (sighting, bool) {
	bad := slices.DeleteFunc(slices.Clone(pods), func(p seenPod) bool { return p.trouble.weight < someWaiting })
	if len(bad) == 0 {
		return sighting{}, false
	}
	worse := func(a, b seenPod) int {
		again := func(p seenPod) int {
			if p.trouble.cause == told {
				return 0
			}
			return 1
		}
		return cmp.Or(again(a)-again(b), b.trouble.weight-a.trouble.weight, cmp.Compare(a.name, b.name))
	}
	return slices.MinFunc(bad, worse).sighting(), true
}

// sighting tells of a Pod in trouble. What a program wrote when it ended may hold
// anything, and is left out.
func (p seenPod) sighting() sighting {
	t := p.trouble
	text := t.text
	if t.message != "" && !t.own {
		text += ": " + t.message
	}
	return sighting{cause: t.cause, backoff: t.backoff, text: text + " (Pod " + p.name + ")"}
}

// replicaFailure is why a workload's controller may not make Pods; "" when it may.
func replicaFailure(live *unstructured.Unstructured) string {
	status, _ := live.Object["status"].(map[string]any)
	c := podCondition(status, "ReplicaFailure")
	if c["status"] != "True" {
		return ""
	}
	return textOf(c["reason"]) + ": " + textOf(c["message"])
}

// bareText is a text without the names in it that controllers generate anew.
func bareText(text string) string { return quoted().ReplaceAllString(text, "") }

// note keeps the trouble that is to be told, and reports whether it is another one.
// One that goes on is told once, and once more when the kubelet begins to pause
// between its attempts.
func (r *run) note(i int, seen sighting) bool {
	told := &r.steps[i].pods.told
	if seen.cause == told.cause && (told.backoff || !seen.backoff) {
		return false
	}
	*told = seen
	told.text = r.hideSecrets(seen.text)
	return true
}

// hideSecrets takes the values of the stream's Secrets out of a text.
func (r *run) hideSecrets(text string) string {
	if r.secrets == nil {
		all, _ := r.secretValues()
		known := newValues(all)
		r.secrets = &known
	}
	return clip(r.secrets.replacer.Replace(oneLine(text)), textWidth)
}

// tellWaiting says what a step waits for, and what troubles its Pods.
func (r *run) tellWaiting(i int) {
	s := &r.steps[i]
	detail := s.reason
	if s.pods.told.text != "" {
		detail += "; " + s.pods.told.text
	}
	r.move(i, Waiting, detail)
}
