// Package liveview computes the display of a run on a terminal: events go in,
// lines for a given width and height come out. It does no I/O and reads no
// clock; package terminal draws the lines.
//
//	v := liveview.New(plan, liveview.Options{WaveTimeout: 5 * time.Minute}, time.Now())
//	above := v.Take(event)               // permanent lines, often none
//	frame := v.Frame(80, 24, time.Now()) // lines to redraw
//	above = v.End()
package liveview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// View is the displayed state of one run.
type View struct {
	plan        *ordering.Plan
	options     Options
	begin       time.Time
	resources   []resource // one per step of the plan
	byID        map[object.ID]int
	waves       [][]int // the resources of each wave
	open        int     // the open wave; -1 if none
	deletes     bool    // the open wave is one of deletions
	opened      time.Time
	latest      time.Time // time of the last event
	interrupted bool
	dependents  [][]dependent // direct dependents, per resource
	held        map[blocker][]int
	hook        hook // that goes on; none without an event
}

// Options describe the run.
type Options struct {
	Graph       bool          // waves are only labels
	WaveTimeout time.Duration // of a wave without its own timeout; 0 means none
}

type resource struct {
	id     object.ID
	state  apply.State
	detail string // without control characters
	sent   time.Time
	ended  time.Time

	assumed bool // ready without evidence in the object
}

// took returns how long a resource took, or has taken so far.
func (r *resource) took(now time.Time) time.Duration {
	switch {
	case r.sent.IsZero():
		return 0
	case !r.ended.IsZero():
		return r.ended.Sub(r.sent)
	}
	return now.Sub(r.sent)
}

// New returns a view of a run that starts at begin.
func New(plan *ordering.Plan, o Options, begin time.Time) *View {
	v := &View{
		options: o, begin: begin, open: -1,
		byID: make(map[object.ID]int, len(plan.Steps)),
		held: map[blocker][]int{},
	}
	v.Extend(plan)
	return v
}

// Extend switches to the plan with additional waves at its end.
func (v *View) Extend(plan *ordering.Plan) {
	v.plan = plan
	for range plan.Waves[len(v.waves):] {
		v.waves = append(v.waves, nil)
	}
	for i := len(v.resources); i < len(plan.Steps); i++ {
		s := plan.Steps[i]
		v.resources = append(v.resources, resource{id: s.ID, state: apply.Pending})
		v.byID[s.ID] = i
		v.waves[s.Wave] = append(v.waves[s.Wave], i)
	}
	v.indexDependents()
}

// Take processes an event and returns the permanent lines that it causes.
func (v *View) Take(e apply.Event) string {
	v.latest = e.Time
	if e.ID == (object.ID{}) {
		if e.EndsWave() {
			return v.endWave("", e.Time)
		}
		v.open, v.opened, v.deletes = e.Wave, e.Time, e.State == apply.Deleting
		return ""
	}
	i, known := v.byID[e.ID]
	if !known {
		return ""
	}
	r := &v.resources[i]
	if r.state, r.detail = e.State, plain.Line(e.Detail); r.sent.IsZero() && (e.State == apply.Applying || e.State == apply.Deleting) {
		r.sent = e.Time
	}
	if e.State.Final() {
		r.ended, r.assumed = e.Time, e.Assumed
	}
	return ""
}

// hook is what is done with a Helm hook, which is no resource of the plan.
type hook struct {
	event string
	resource
}

// TakeHook takes one event of a hook.
func (v *View) TakeHook(e apply.Event) {
	v.latest = e.Time
	switch {
	case e.ID == (object.ID{}) || e.Log != nil:
	case e.State.Final():
		v.hook = hook{}
	default:
		if v.hook.id != e.ID || v.hook.event != e.Hook {
			v.hook = hook{event: e.Hook, resource: resource{id: e.ID, sent: e.Time}}
		}
		v.hook.state, v.hook.detail = e.State, plain.Line(e.Detail)
	}
}

// Interrupt records that the run was asked to stop.
func (v *View) Interrupt() { v.interrupted = true }

// End closes the open wave after a failure, and lists resources that are
// unsettled or deferred with what they last waited for. Failures have been
// listed before.
func (v *View) End() string {
	var b strings.Builder
	if v.open >= 0 {
		b.WriteString(v.endWave("ended", v.latest))
	}
	left := 0
	for i := range v.resources {
		r := &v.resources[i]
		if r.state != apply.Unsettled && r.state != apply.Deferred {
			continue
		}
		if left++; left <= mostRows {
			plain.Fprintf(&b, "  %s: %s\n", r.id.String(), detailText(string(r.state), r.detail))
		}
	}
	if left > mostRows {
		plain.Fprintf(&b, "  and %d more\n", left-mostRows)
	}
	return b.String()
}

// endWave returns a line about the open wave: its result, the states of its
// resources, and the slowest one if it was slow.
func (v *View) endWave(how string, at time.Time) string {
	wave := v.waves[v.open]
	line := fmt.Sprintf("%s: %s in %s", v.title(v.open), v.counts(wave), span(at.Sub(v.opened)))
	if how != "" {
		line = fmt.Sprintf("%s: %s after %s: %s", v.title(v.open), how, span(at.Sub(v.opened)), v.counts(wave))
	}
	if len(wave) > 1 && how == "" {
		slowest := slices.MaxFunc(wave, func(a, b int) int {
			return int(v.resources[a].took(at) - v.resources[b].took(at))
		})
		if v.resources[slowest].took(at) >= time.Second {
			line += ", slowest " + plain.Line(v.resources[slowest].id.String())
		}
	}
	v.open = -1
	return line + "\n"
}

func (v *View) title(wave int) string { return plain.Line(v.plan.WaveTitle(wave)) }

// counts returns the number of resources by state: "3 ready, 1 failed".
func (v *View) counts(of []int) string {
	counts := map[apply.State]int{}
	for _, i := range of {
		counts[v.resources[i].state]++
	}
	var parts []string
	for _, state := range []apply.State{
		apply.Ready, apply.Applied, apply.Deferred, apply.Deleted, apply.Kept, apply.Waiting, apply.Applying, apply.Deleting, apply.Pending,
		apply.Unsettled, apply.Failed, apply.TimedOut, apply.Skipped, apply.NotStarted,
	} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

func detailText(state, detail string) string {
	if detail == "" {
		return state
	}
	return state + ": " + detail
}

// span formats a duration: to a hundredth of a second below ten seconds, else
// to the second.
func span(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return clock(d)
}

// clock formats a running duration, to the second.
func clock(d time.Duration) string { return d.Truncate(time.Second).String() }
