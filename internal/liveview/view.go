// Package liveview is what a person sees of a run on a terminal: events go in,
// lines of a given width and height come out. It does no I/O and reads no
// clock; package terminal draws what it says.
//
//	v := liveview.New(plan, liveview.Options{WaveTimeout: 5 * time.Minute}, time.Now())
//	above := v.Take(event)               // lines that stay, often none
//	frame := v.Frame(80, 24, time.Now()) // what changes
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

// View is the state of one run, as far as it is shown.
type View struct {
	plan        *ordering.Plan
	options     Options
	begin       time.Time
	resources   []resource // one per step of the plan
	byID        map[object.ID]int
	waves       [][]int // the resources of each
	open        int     // the open wave; -1 when none is
	deletes     bool    // the open wave
	opened      time.Time
	latest      time.Time // when something happened
	interrupted bool
	followers   [][]follower // who needs a resource directly
	held        map[hold][]int
}

// Options say how the run goes.
type Options struct {
	Graph       bool          // waves are only labels
	WaveTimeout time.Duration // of a wave without a timeout of its own; 0 is none
}

type resource struct {
	id     object.ID
	state  apply.State
	detail string // plain
	sent   time.Time
	ended  time.Time

	assumed bool // ready, and nothing in the object says so
}

// took is how long a resource took, or takes by now.
func (r *resource) took(now time.Time) time.Duration {
	switch {
	case r.sent.IsZero():
		return 0
	case !r.ended.IsZero():
		return r.ended.Sub(r.sent)
	}
	return now.Sub(r.sent)
}

// New is a view of a run that begins now.
func New(plan *ordering.Plan, o Options, begin time.Time) *View {
	v := &View{
		options: o, begin: begin, open: -1,
		byID: make(map[object.ID]int, len(plan.Steps)),
		held: map[hold][]int{},
	}
	v.Extend(plan)
	return v
}

// Extend takes the plan with further waves at its end.
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
	v.follow()
}

// Take takes one event and returns the lines that stay because of it.
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

// Interrupt tells that the run was asked to stop.
func (v *View) Interrupt() { v.interrupted = true }

// End closes the wave that did not end well, and names what was left unsettled
// or deferred, with what it last waited for. Failures have been told by then.
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
			plain.Fprintf(&b, "  %s: %s\n", r.id.String(), said(string(r.state), r.detail))
		}
	}
	if left > mostRows {
		plain.Fprintf(&b, "  and %d more\n", left-mostRows)
	}
	return b.String()
}

// endWave sums up the open wave in a line: how it ended, how its resources did,
// and which took longest, if it took long.
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

// counts says how many resources are in which state, as "3 ready, 1 failed".
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

func said(state, detail string) string {
	if detail == "" {
		return state
	}
	return state + ": " + detail
}

// span is a time as people read it: to the hundredth below ten seconds, then to
// the second.
func span(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return clock(d)
}

// clock is a time that runs, to the second.
func clock(d time.Duration) string { return d.Truncate(time.Second).String() }
