package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// An inferred gate may hold back the resource that would open it: programs start in ways that
// no manifest shows. So when no awaited resource has moved for a while, gates yield if the
// cluster itself would retry their dependents. Declared gates never do, nor gates whose
// dependents the API server would reject. The gate before the hooks that follow the run is
// inferred, too.

// yieldAfter is how long nothing moves before gates yield.
const yieldAfter = 30 * time.Second

// maxEventsRead bounds one LIST of events.
const maxEventsRead = 500

// watchStillness starts the clock, if the plan has gates that may yield.
func (r *run) watchStillness() {
	r.still = wait.NewClock(time.Now())
	if r.applier.DryRun || r.OnePass {
		return
	}
	if slices.ContainsFunc(r.plan.Steps, mayYield) || len(r.plan.Waves) > 1 || r.hooks.Then != "" {
		r.After(yieldAfter/2, r.checkStillness)
	}
}

func mayYield(s ordering.Step) bool {
	return s.FailsOpen || slices.ContainsFunc(s.Needs, func(n ordering.Need) bool { return n.Yields })
}

// checkStillness lets gates yield when nothing has moved. Events are read only then: once
// when half of the time has passed, to know the earlier ones, and at its end.
func (r *run) checkStillness() {
	if r.Stopping || r.Finished {
		return
	}
	if r.hooksOpen > 0 { // the steps may wait for them
		r.moved()
	}
	still := r.still.For(time.Now())
	stuck := r.stuck()
	switch {
	case len(stuck) == 0 || still < yieldAfter/2:
		r.eventsKnown = false
		r.After(max(yieldAfter/2-still, time.Second), r.checkStillness)
	case !r.eventsKnown:
		r.readEvents(r.waiting(), func(i int, events []wait.SeenEvent) {
			for _, e := range events {
				r.still.Knows(e.About, e.State)
			}
		}, func() {
			r.eventsKnown = true
			r.After(max(yieldAfter-r.still.For(time.Now()), 0), r.checkStillness)
		})
	case still < yieldAfter:
		r.After(yieldAfter-still, r.checkStillness)
	default:
		r.readEvents(r.waiting(), r.sawEvents, func() {
			if r.eventsKnown = false; r.still.For(time.Now()) >= yieldAfter && !r.Stopping {
				r.yield()
			}
			r.After(time.Second, r.checkStillness)
		})
	}
}

// sawEvents records the events about a step's objects.
func (r *run) sawEvents(i int, events []wait.SeenEvent) {
	for _, e := range events {
		r.still.Saw(time.Now(), e.About, e.State)
	}
	if wait.Works(events) {
		r.still.Moved(time.Now())
	}
}

// readEvents reads the events about objects of steps, and calls each for every step, then done.
func (r *run) readEvents(steps []int, each func(i int, events []wait.SeenEvent), done func()) {
	cluster, namespaces := r.applier.Cluster, map[string]bool{}
	for _, i := range steps {
		namespaces[r.steps[i].ID.Namespace] = true
	}
	delete(namespaces, "")
	r.Enqueue(func(ctx context.Context) func() {
		read := map[string][]*unstructured.Unstructured{}
		for namespace := range namespaces { // where they may not be read, statuses and Pods say enough
			read[namespace], _ = cluster.List(ctx, kube.CoreKind("events"), namespace, kube.Query{Limit: maxEventsRead})
		}
		return func() {
			for _, i := range steps {
				each(i, wait.EventsAbout(read[r.steps[i].ID.Namespace], r.steps[i].ID.Name))
			}
			done()
		}
	})
}

// waiting returns the steps that are waited for.
func (r *run) waiting() []int {
	var out []int
	for i := range r.steps {
		if r.steps[i].state == event.Waiting {
			out = append(out, i)
		}
	}
	return out
}

// stuck returns the steps that are waited for and hold something back that may be let go.
func (r *run) stuck() []int {
	var out []int
	last := r.holdsNext()
	for i := range r.steps {
		if s := &r.steps[i]; s.state == event.Waiting && (r.mayLeaveOpen(i) || last || r.holdsWave(i) || len(r.yielding(i)) > 0) {
			out = append(out, i)
		}
	}
	return out
}

// holdsNext reports whether the next hooks wait only for the readiness of steps, none of which
// declares that it is waited for.
func (r *run) holdsNext() bool {
	return r.hooks.Then != "" && !slices.ContainsFunc(r.steps, func(s step) bool {
		return !s.state.Succeeded() && (s.state != event.Waiting || s.declaresReady())
	})
}

// declaresReady reports whether the author of a manifest makes later resources wait until it is
// ready.
func (s *step) declaresReady() bool {
	return s.manifest.GetAnnotations()[ordering.WaitAnnotation] == "ready"
}

// yielding returns the edges of a step that may be let go of and that alone hold another step
// back now.
func (r *run) yielding(i int) []loop.Edge {
	firm, passed := r.order.Firm(i), r.passedBy(i)
	return slices.DeleteFunc(slices.Clone(r.order.From(i)), func(e loop.Edge) bool {
		return !e.Yields || firm[e.To] || r.steps[e.To].state != event.Pending || passed(e.Gate)
	})
}

// passedBy returns a function that reports whether a step that is not ready has passed a gate.
func (r *run) passedBy(i int) func(ordering.Gate) bool {
	applied, started := r.steps[i].state == event.Waiting, r.steps[i].podsExist
	return func(g ordering.Gate) bool {
		return g == ordering.Applied && applied || g == ordering.Started && started
	}
}

// holdsWave reports whether steps of later waves wait for a step only because the plan has
// waves: no layer, no annotation and no edge that stays makes them wait.
func (r *run) holdsWave(i int) bool {
	s := &r.steps[i]
	if r.applier.Schedule != Waves || s.gatePassed || s.ReadyBy > r.wave || len(s.Layers) > 0 || s.declaresReady() {
		return false
	}
	firm := r.order.Firm(i)
	for later := range r.steps {
		if r.steps[later].Wave > r.wave && !firm[later] {
			return true
		}
	}
	return false
}

// yield lets go of the dependents of steps that do not move, and names the edges.
func (r *run) yield() {
	stuck, last := r.stuck(), r.holdsNext()
	freed := map[int][]loop.Edge{}
	for _, i := range stuck {
		if edges := r.yielding(i); len(edges) > 0 {
			freed[i] = edges
		}
	}
	for _, i := range stuck {
		switch {
		case r.mayLeaveOpen(i):
			r.leaveOpen(i)
			continue
		case last:
			r.noteYield(i, r.hooks.Then+" run before it is ready")
			r.steps[i].leftUnready = true
			r.leaveApplied(i, "")
			continue
		case len(freed[i]) > 0:
			r.noteYield(i, "what the cluster itself would retry waits for it no longer: "+r.namesOf(i, freed[i]))
		case len(freed) == 0:
			r.noteYield(i, "later waves wait for it no longer")
		}
		r.letGo(i)
	}
	r.moved()
}

func (r *run) noteYield(i int, what string) {
	r.wait(i, event.Waiting, event.WaitReadiness, fmt.Sprintf("%s; nothing has moved for %s, so %s", r.steps[i].detail, yieldAfter, what))
}

// letGo frees dependents that wait for a step only by yielding edges, or because of its wave.
func (r *run) letGo(i int) {
	s := &r.steps[i]
	for _, e := range r.order.Yield(i, r.passedBy(i)) {
		r.release(e.To)
	}
	if r.holdsWave(i) {
		r.waves[s.ReadyBy].gatesPending--
		last := *s.Step // the plan stays as it is
		last.Due, last.ReadyBy = len(r.waves)-1, len(r.waves)-1
		s.Step = &last
		r.waves[s.ReadyBy].gatesPending++
	}
}

// mayLeaveOpen reports whether a step is a webhook configuration without which all requests
// pass, and no resource waits for it because its author says so.
func (r *run) mayLeaveOpen(i int) bool {
	return r.steps[i].FailsOpen && !slices.ContainsFunc(r.order.From(i), func(e loop.Edge) bool {
		return !e.Yields && e.Gate == ordering.Ready && e.To < len(r.steps) && r.steps[e.To].state == event.Pending
	})
}

// leaveOpen ends the wait for a webhook configuration without which all requests pass.
func (r *run) leaveOpen(i int) {
	r.leaveApplied(i, r.steps[i].detail+"; its webhooks fail open, so the run does not wait for it any longer")
}

// leaveApplied ends the wait for a step that is not ready. Without a detail, the last one stays.
func (r *run) leaveApplied(i int, detail string) {
	r.finish(i, event.Applied, cmp.Or(detail, r.steps[i].detail))
	r.pass(i)
	r.passStarted(i)
	r.onGatePassed(i, ordering.Ready)
}

// namesOf names the targets of edges from a step, with the reasons.
func (r *run) namesOf(i int, edges []loop.Edge) string {
	return strings.Join(plain.Sample(edges, 3, "and %d more", func(e loop.Edge) string {
		target := &r.steps[e.To]
		at := slices.IndexFunc(target.Needs, func(n ordering.Need) bool { return n.ID == r.steps[i].ID && n.Gate == e.Gate && n.Yields })
		return fmt.Sprintf("%s (%s)", target.ID, target.Needs[at].Why)
	}), ", ")
}
