package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// mostRows is the maximum number of resources shown, whatever the height.
const mostRows = 16

// View is the display of one run.
type View struct {
	run         *track.Tracker
	options     ViewOptions
	interrupted bool
	dependents  [][]dependent     // direct dependents, per resource
	waiting     map[blocker][]int // results of allBlocked
	last        track.RunTimes
	lastWaves   []time.Duration // of each wave; 0: unknown
}

// ViewOptions describe the run.
type ViewOptions struct {
	Graph       bool          // waves are only labels
	WaveTimeout time.Duration // of a wave without its own timeout; 0 means none
}

// dependent is a resource that needs another, with the gate from which it may
// start.
type dependent struct {
	resource int
	gate     ordering.Gate
}

// blocker is a resource, and whether it is applied: then only dependents with gate
// Ready wait for it.
type blocker struct {
	resource int
	applied  bool
}

// NewView returns a view of a run. Nothing else may use the tracker from another goroutine.
func NewView(run *track.Tracker, o ViewOptions) *View {
	v := &View{run: run, options: o, waiting: map[blocker][]int{}}
	v.indexDependents()
	return v
}

// Extend switches to the plan with additional waves at its end.
func (v *View) Extend(plan *ordering.Plan) {
	v.run.Extend(plan)
	v.indexDependents()
}

// indexDependents lists the dependents of each resource.
func (v *View) indexDependents() {
	v.dependents = make([][]dependent, len(v.run.Resources))
	for i, s := range v.run.Plan.Steps {
		for _, need := range s.Needs {
			if n, ok := v.run.Index(need.ID); ok {
				v.dependents[n] = append(v.dependents[n], dependent{i, need.Gate})
			}
		}
	}
}

// Take processes an event and returns the permanent lines that it causes.
func (v *View) Take(e event.Event) []Line {
	if change := v.run.Take(e); change.Kind == track.WaveEnded {
		return []Line{v.endWave(e.Wave, e.Time, false)}
	}
	return nil
}

// Interrupt records that the run was asked to stop.
func (v *View) Interrupt() { v.interrupted = true }

// End closes the open wave after a failure, and lists resources that are unsettled or
// deferred with their last wait. Failures have been listed before.
func (v *View) End() []Line {
	var lines []Line
	if v.run.Open != track.None {
		lines = append(lines, v.endWave(v.run.Open, v.run.Last, true))
	}
	left := 0
	for _, r := range v.run.Resources {
		if r.State != event.Unsettled && r.State != event.Deferred {
			continue
		}
		if left++; left <= mostRows {
			lines = append(lines, Line{Text: plain.Line(fmt.Sprintf("  %s: %s", r.ID, describe(&r)))})
		}
	}
	if left > mostRows {
		lines = append(lines, Line{Text: fmt.Sprintf("  and %d more", left-mostRows)})
	}
	return lines
}

// endWave returns a line about a wave that ended, early after a failure: the states of
// its resources, and the slowest one if it was slow.
func (v *View) endWave(n int, at time.Time, early bool) Line {
	wave := v.run.Waves[n]
	title, took, counts := v.title(n), span(at.Sub(wave.Opened)), v.run.Count(n).Text(nil)
	if early {
		return Line{Text: fmt.Sprintf("%s: ended after %s: %s", title, took, counts), Mood: Bad}
	}
	line := fmt.Sprintf("%s: %s in %s", title, counts, took)
	if len(wave.Members) > 1 {
		slowest := slices.MaxFunc(wave.Members, func(a, b int) int {
			return cmp.Compare(v.run.Resources[a].Took(at), v.run.Resources[b].Took(at))
		})
		if r := &v.run.Resources[slowest]; r.Took(at) >= time.Second {
			line += ", slowest " + plain.Line(r.ID.String())
		}
	}
	return Line{Text: line, Mood: Good}
}

func (v *View) title(wave int) string { return plain.Line(v.run.Plan.WaveTitle(wave)) }

// inWave reports whether a wave is open; with schedule graph there are none.
func (v *View) inWave() bool { return !v.options.Graph && v.run.Open != track.None }

// isStuck reports whether something of the open wave failed, so that no later
// wave opens.
func (v *View) isStuck() bool {
	_, bad := v.tally(v.run.Waves[v.run.Open].Members)
	return bad > 0
}

// tally counts resources that succeeded and that failed.
func (v *View) tally(of []int) (done, bad int) {
	for _, i := range of {
		switch v.run.Resources[i].State {
		case event.Ready, event.Applied, event.Deferred, event.Deleted, event.Kept:
			done++
		case event.Failed, event.TimedOut:
			bad++
		}
	}
	return done, bad
}
