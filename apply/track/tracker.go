// Package track follows a run: events go in; the state and the times of every resource,
// wave and hook come out. The log, the live view, the JSON lines and the metrics read
// them here. It does no I/O and reads no clock.
//
//	run := track.New(plan, time.Now())
//	change := run.Take(event) // change.Kind == track.Applied
//	for _, r := range run.Resources {
//		fmt.Println(r.ID, r.State, r.Sent, r.Applied, r.Done)
//	}
package track

import (
	"slices"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// None is the open wave when there is none.
const None = -1

// Tracker is the state of one run. It must be used from one goroutine.
type Tracker struct {
	Plan      *ordering.Plan
	Started   time.Time
	Resources []Resource // one per step of the plan, in its order
	Waves     []Wave     // one per wave of the plan
	Open      int        // index of the open wave, or None: before the first, between two and with schedule graph
	Hook      *Hook      // the hook that is running, which is no resource of the plan; nil without one
	Last      time.Time  // when the last event happened; zero before the first

	index map[object.ID]int
	hooks map[object.ID]time.Time // when the current or last operation of each hook started
}

// Resource is the state of one resource.
type Resource struct {
	ID      object.ID
	State   event.State
	Last    Kind   // of its last transition; Unknown before the first
	Detail  string // what it waits for, or why it ended; may be ""
	Assumed bool   // ready, although nothing in the object says so
	event.Change
	Queued time.Time // its wave opened, or the run began if none has
	event.Times
}

// Wave is the state of one wave.
type Wave struct {
	Members       []int // its resources, as indices into Tracker.Resources
	Deletes       bool  // it deletes its resources
	Opened, Ended time.Time
}

// Hook is a hook that is being applied or deleted.
type Hook struct {
	Event string // at which it runs, "pre-install"
	Resource
}

// New returns the tracker of a run that begins now, with all resources pending.
func New(plan *ordering.Plan, now time.Time) *Tracker {
	t := &Tracker{Started: now, Open: None, index: make(map[object.ID]int, len(plan.Steps)), hooks: map[object.ID]time.Time{}}
	t.Extend(plan)
	return t
}

// Extension is the part of a plan that continues another.
type Extension struct {
	Plan      *ordering.Plan
	Resources int      // number of additional resources
	Notes     []string // additional notes
}

// Extend switches to a plan that is the current one with more waves at its end.
func (t *Tracker) Extend(plan *ordering.Plan) Extension {
	more := Extension{Plan: plan, Resources: len(plan.Steps) - len(t.Resources)}
	if t.Plan != nil {
		more.Notes = plan.Notes[len(t.Plan.Notes):]
	}
	t.Plan = plan
	t.Waves = append(t.Waves, make([]Wave, len(plan.Waves)-len(t.Waves))...)
	t.Resources = slices.Grow(t.Resources, more.Resources)
	for i := len(t.Resources); i < len(plan.Steps); i++ {
		s := &plan.Steps[i]
		t.Resources = append(t.Resources, Resource{ID: s.ID, State: event.Pending, Queued: t.Started})
		t.index[s.ID] = i
		t.Waves[s.Wave].Members = append(t.Waves[s.Wave].Members, i)
	}
	return more
}

// Index returns the index of a resource in Resources and in the plan's steps, and
// whether the plan has it.
func (t *Tracker) Index(id object.ID) (int, bool) {
	i, ok := t.index[id]
	return i, ok
}

// Step returns the plan's step of a resource; nil if the plan does not have it, or
// without a run.
func (t *Tracker) Step(id object.ID) *ordering.Step {
	if t != nil {
		if i, ok := t.index[id]; ok {
			return &t.Plan.Steps[i]
		}
	}
	return nil
}

// Count returns the number of resources of a wave by state.
func (t *Tracker) Count(wave int) event.Counts {
	counts := event.Counts{}
	for _, i := range t.Waves[wave].Members {
		counts[t.Resources[i].State]++
	}
	return counts
}

// IsOver reports whether every resource is in its final state.
func (t *Tracker) IsOver() bool {
	for i := range t.Resources {
		if !t.Resources[i].State.Final() {
			return false
		}
	}
	return true
}
