package apply

import (
	"time"

	"github.com/ordapply/ordapply/apply/event"
)

// A custom resource without a meaningful status may still get one that says that it is broken.
// The status grace keeps its dependents, and whatever follows the run, from starting before that.
// Where there are neither, it delays only the end of the run: then it is not waited for.

// setInGrace records whether only its status grace keeps a step waiting.
func (r *run) setInGrace(i int, is bool) {
	s := &r.steps[i]
	switch {
	case is && !s.inGrace:
		r.inGrace++
	case !is && s.inGrace:
		r.inGrace--
	}
	s.inGrace = is
}

// mayCutGrace reports whether nothing follows the run, so that its last resources need no status
// grace.
func (r *run) mayCutGrace() bool {
	return r.hooks.Last && r.hooks.Then == "" && !r.applier.Health.Strict && !r.applier.DryRun && !r.OnePass
}

// graceIsOver reports whether nothing depends on the resources in their status grace: all others,
// and all hooks of the plan, have ended.
func (r *run) graceIsOver() bool {
	return !r.Stopping && r.mayCutGrace() && r.inGrace > 0 && r.inGrace == r.unfinished && r.hooksLeft == 0
}

// endGrace ends the status grace of resources on which nothing depends.
func (r *run) endGrace() {
	if r.Finished || !r.graceIsOver() {
		return
	}
	for i := range r.steps {
		if s := &r.steps[i]; s.inGrace {
			r.evaluate(i, s.lastSeen)
		}
	}
}

// graceReportDelay is how long a status grace that may be cut short is not reported: the wait is
// often over as soon as the other resources are applied.
const graceReportDelay = 500 * time.Millisecond

// reportUnready reports why a step is not ready.
func (r *run) reportUnready(i int) {
	if !r.steps[i].inGrace || !r.mayCutGrace() {
		r.reportWaiting(i)
		return
	}
	r.After(graceReportDelay, func() {
		if s := &r.steps[i]; s.state == event.Waiting && s.inGrace {
			r.reportWaiting(i)
		}
	})
}
