package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/loop"
)

// Schedule selects how a plan's order is enforced. Each keeps all edges and layers.
type Schedule int

// The schedules.
const (
	// Waves opens one wave after the other; the default.
	Waves Schedule = iota
	// Graph starts each resource as soon as its own dependencies are met;
	// waves are only labels then. Resources that do not depend on a failed
	// one are still applied.
	Graph
)

// ParseSchedule parses "waves" or "graph"; anything else is an error.
func ParseSchedule(s string) (Schedule, error) {
	switch s {
	case "waves":
		return Waves, nil
	case "graph":
		return Graph, nil
	}
	return Waves, fmt.Errorf("%q is not a schedule: write waves or graph", s)
}

// String returns the schedule as flags accept it.
func (s Schedule) String() string {
	if s == Graph {
		return "graph"
	}
	return "waves"
}

// beginSchedule starts the steps that wait for nothing.
func (r *run) beginSchedule() {
	if r.applier.Schedule == Waves {
		for i := range r.steps {
			r.order.Hold(i) // until its wave opens
		}
		r.openWave(0)
		return
	}
	r.addLayerEdges()
	r.order.HoldAll()
	for i := range r.steps {
		if r.steps[i].state.Final() { // left out before the schedule began
			r.releaseLayers(i)
		}
	}
	for node := range r.order.Len() {
		r.release(node)
	}
	r.startNext()
}

// startNext starts the steps that wait for nothing, as long as the workers need more.
func (r *run) startNext() { r.toStart.DrainWhile(r.HasRoom, r.start) }

// isNext reports whether a step waits for nothing but a worker.
func (r *run) isNext(i int) bool { return r.steps[i].state == event.Pending && !r.order.Waits(i) }

// advance opens the next wave, or ends the run, when there is nothing left to
// wait for.
func (r *run) advance() {
	r.startNext()
	r.endGrace()
	switch {
	case r.Finished:
	case r.Stopping:
		r.Finished = r.InFlight == 0 && (r.EndedBy == loop.ByFence || !r.hasHalfRecreated())
	case r.applier.Schedule == Graph:
		r.Finished = r.unfinished == 0
	default:
		r.advanceWave()
	}
	if r.relist(); r.OnePass && !r.Stopping && !r.Finished && r.IsIdle() {
		r.Stop(loop.ByWaiting)
		r.Finished = true
	}
}

// hasOpenRequests reports whether requests are unanswered. After a failure the run
// waits only for these, so that it reports all errors.
func (r *run) hasOpenRequests() bool {
	return r.pendingRequests > 0 || !r.IsIdle()
}

// hasHalfRecreated reports whether an object was deleted and is not created again yet.
func (r *run) hasHalfRecreated() bool {
	return slices.ContainsFunc(r.steps, func(s step) bool { return s.isHalfRecreated() })
}

// advanceWave closes the open wave, and the waves after it that have nothing
// to send or wait for.
func (r *run) advanceWave() {
	for !r.Finished {
		switch w := &r.waves[r.wave]; {
		case w.unapplied > 0 && (r.failures == 0 || r.hasOpenRequests()):
			return
		case r.failures > 0:
			r.failMissing()
			r.Stop(loop.ByFailure)
			r.Finished = r.InFlight == 0
			return
		case !w.hooksBegun:
			w.hooksBegun = true
			r.runHooks(r.wave)
			continue
		case w.gatesPending > 0:
			return
		}
		r.closeWave()
	}
}

// openWave starts the resources of a wave that wait for no other one.
func (r *run) openWave(wave int) {
	if wave == len(r.plan.Waves) {
		r.Finished = true
		return
	}
	r.wave, r.waveOpen = wave, time.Now()
	members := r.waves[wave].members
	r.requireFreshReads(members)
	r.emit(event.Event{Wave: wave, State: event.Applying, Detail: plain.Count(len(members), "resource")})
	if r.applier.WaveTimeout > 0 {
		r.After(r.applier.WaveTimeout, func() { r.onWaveTimeout(wave) })
	}
	for _, i := range members {
		r.release(i)
	}
	r.startNext()
}

func (r *run) closeWave() {
	took := time.Since(r.waveOpen)
	r.waves[r.wave].took = took
	r.emit(event.Event{Wave: r.wave, State: event.Ready, Detail: took.Round(time.Millisecond).String() + r.exceptions()})
	r.openWave(r.wave + 1)
}

// exceptions names the resources of the open wave that the next wave, or hooks, do not wait
// for.
func (r *run) exceptions() string {
	var unready []int
	next := "the next wave does not wait"
	for _, i := range r.waves[r.wave].members {
		switch s := &r.steps[i]; {
		case s.leftUnready:
			next = r.hooks.Then + " do not wait"
		case s.state != event.Waiting || s.gatePassed || r.wave+1 == len(r.plan.Waves):
			continue
		}
		unready = append(unready, i)
	}
	if len(unready) == 0 {
		return ""
	}
	return ", except " + strings.Join(plain.Sample(unready, 3, "and %d more", func(i int) string { return r.steps[i].ID.String() }), ", ") + ", for which " + next
}
