package apply

import "fmt"

// Schedule says how a plan's order is kept.
type Schedule int

const (
	// Waves opens one wave after the other; the default.
	Waves Schedule = iota
	// Graph starts each resource as soon as its own needs are met; waves are
	// then only labels. What does not depend on a failure goes on.
	Graph
)

// ParseSchedule reads "waves" or "graph".
func ParseSchedule(s string) (Schedule, error) {
	switch s {
	case "waves":
		return Waves, nil
	case "graph":
		return Graph, nil
	}
	return Waves, fmt.Errorf("%q is no schedule: write waves or graph", s)
}

// String is the schedule as flags write it.
func (s Schedule) String() string {
	if s == Graph {
		return "graph"
	}
	return "waves"
}

// begin starts what waits for nothing.
func (r *run) beginSchedule() {
	if r.a.Schedule == Waves {
		for i := range r.steps {
			r.blockers[i]++ // until its wave opens
		}
		r.openWave(0)
		return
	}
	r.wireLayers()
	for n := range r.plan.Layers {
		r.blockers[len(r.steps)+n]++
	}
	for i := range r.steps {
		r.blockers[i]++
	}
	for node := range r.blockers {
		r.release(node)
	}
}

// advance opens the next wave, or ends the run, when nothing is left to wait
// for.
func (r *run) advance() {
	switch {
	case r.over:
	case r.stopping:
		r.over = r.inFlight == 0
	case r.a.Schedule == Graph:
		r.over = r.unfinished == 0
	default:
		r.advanceWave()
	}
	r.relist()
}

// underway tells whether answers to requests are outstanding. After a failure only
// they are waited for, so that all faults are named.
func (r *run) underway() bool { return r.asked > 0 || len(r.queue) > 0 || r.inFlight > 0 }

// advanceWave closes the open wave, and those after it of which nothing has to
// be sent or waited for.
func (r *run) advanceWave() {
	for !r.over {
		switch w := &r.waves[max(r.wave, 0)]; {
		case w.unanswered > 0 && (r.failures == 0 || r.underway()):
			return
		case r.failures > 0:
			r.nameUnserved()
			r.stop(byFailure)
			r.over = r.inFlight == 0
			return
		case w.unpassed > 0:
			return
		}
		r.closeWave()
	}
}
