package apply

import (
	"fmt"

	"github.com/ordapply/ordapply/internal/loop"
)

// Schedule selects how a plan's order is enforced. Each keeps all edges and layers.
type Schedule int

// Values of Schedule.
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
			r.waitCounts[i]++ // until its wave opens
		}
		r.openWave(0)
		return
	}
	r.addLayerEdges()
	for n := range r.plan.Layers {
		r.waitCounts[len(r.steps)+n]++
	}
	for i := range r.steps {
		r.waitCounts[i]++
	}
	for node := range r.waitCounts {
		r.release(node)
	}
}

// advance opens the next wave, or ends the run, when there is nothing left to
// wait for.
func (r *run) advance() {
	switch {
	case r.Finished:
	case r.Stopping:
		r.Finished = r.InFlight == 0
	case r.applier.Schedule == Graph:
		r.Finished = r.unfinished == 0
	default:
		r.advanceWave()
	}
	r.relist()
}

// hasOpenRequests reports whether requests are unanswered. After a failure the run
// waits only for these, so that it reports all errors.
func (r *run) hasOpenRequests() bool {
	return r.pendingRequests > 0 || len(r.Queue) > 0 || r.InFlight > 0
}

// advanceWave closes the open wave, and the waves after it that have nothing
// to send or wait for.
func (r *run) advanceWave() {
	for !r.Finished {
		switch w := &r.waves[max(r.wave, 0)]; {
		case w.unapplied > 0 && (r.failures == 0 || r.hasOpenRequests()):
			return
		case r.failures > 0:
			r.failUnservedKinds()
			r.Stop(loop.ByFailure)
			r.Finished = r.InFlight == 0
			return
		case w.gatesPending > 0:
			return
		}
		r.closeWave()
	}
}
