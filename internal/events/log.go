package events

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Log writes the lines of one run, in this order: Begin, any number of Event,
// optionally RollBack and more events, End. Errors before a run starts are
// passed to End alone.
type Log struct {
	w      io.Writer
	act         // the current one
	failed *act // the failed run before a rollback, or nil
	open   int  // the open wave, from 0; -1 if none
	since  time.Time
	last   time.Time               // time of the last event
	hooks  map[object.ID]time.Time // when the current operation of each hook started
}

// act is a plan being executed: the run's or its rollback's.
type act struct {
	plan  *ordering.Plan
	place map[object.ID]*place
	waves [][]*place
}

// place is the state of a resource of the plan.
type place struct {
	step  *ordering.Step
	state apply.State
	sent  time.Time
}

// NewLog returns a Log that writes a whole line with each Write. It ignores errors of w.
func NewLog(w io.Writer) *Log { return &Log{w: w, open: -1} }

// Begin writes the first line of a run. The caller sets the fields of start
// that are not in the plan.
func (l *Log) Begin(plan *ordering.Plan, start RunStart) {
	start.Resources, start.Waves = len(plan.Steps), l.take(plan)
	start.Head = head(TypeRunStart, time.Now())
	l.write(start)
	l.notes(plan.Notes)
}

// RollBack reports that the run failed and rolls back to a revision, with its
// plan.
func (l *Log) RollBack(plan *ordering.Plan, revision int) {
	if l.open >= 0 {
		how := apply.TimedOut
		if slices.ContainsFunc(l.waves[l.open], func(p *place) bool { return p.state == apply.Failed }) {
			how = apply.Failed
		}
		l.endWave(state(how), l.last)
	}
	failed := l.act
	l.failed = &failed
	waves := l.take(plan)
	l.write(RollbackStart{Head: head(TypeRollbackStart, time.Now()), Revision: revision, Resources: len(plan.Steps), Waves: waves})
	l.notes(plan.Notes)
}

// take switches to a plan and returns its waves.
func (l *Log) take(plan *ordering.Plan) []Wave {
	l.act = act{place: make(map[object.ID]*place, len(plan.Steps))}
	l.extend(plan)
	waves := []Wave{}
	for n := range plan.Waves {
		waves = append(waves, l.wave(n))
	}
	return waves
}

// notes writes the notes of a plan.
func (l *Log) notes(notes []string) {
	for _, note := range notes {
		l.write(Warning{Head: head(TypeWarning, time.Now()), Source: "plan", Message: note})
	}
}

// Extend switches to the plan with additional waves and notes at its end, and
// writes those notes.
func (l *Log) Extend(plan *ordering.Plan) {
	l.notes(plan.Notes[len(l.plan.Notes):])
	l.extend(plan)
}

func (l *Log) extend(plan *ordering.Plan) {
	l.plan = plan
	for range plan.Waves[len(l.waves):] {
		l.waves = append(l.waves, nil)
	}
	for i := range plan.Steps {
		if step := &plan.Steps[i]; l.place[step.ID] == nil {
			p := &place{step: step, state: apply.Pending}
			l.place[step.ID] = p
			l.waves[step.Wave] = append(l.waves[step.Wave], p)
		}
	}
}

// wave returns the description of a wave of the plan, from 0.
func (l *Log) wave(n int) Wave {
	return Wave{Wave: n + 1, Name: l.plan.Waves[n].Name, Resources: len(l.waves[n])}
}

// Event writes one event.
func (l *Log) Event(e apply.Event) {
	l.last = e.Time
	if e.Hook != "" {
		l.hook(e)
		return
	}
	if e.ID != (object.ID{}) {
		l.resource(e)
		return
	}
	if e.EndsWave() {
		l.endWave(state(e.State), e.Time)
		return
	}
	l.open, l.since = e.Wave, e.Time
	l.write(WaveStart{Head: head(TypeWaveStart, e.Time), Wave: l.wave(e.Wave)})
}

func (l *Log) resource(e apply.Event) {
	p := l.place[e.ID]
	if p == nil {
		return
	}
	if p.state = e.State; p.sent.IsZero() && (e.State == apply.Applying || e.State == apply.Deleting) {
		p.sent = e.Time
	}
	line := Resource{
		Head: head(TypeResource, e.Time), ID: id(e.ID), Wave: e.Wave + 1, Layer: e.Layer,
		Operation: operation(e.Op), State: state(e.State), Final: e.State.Final(), Unchanged: e.Unchanged,
		Assumed: e.Assumed, Health: e.Health.String(), Message: e.Detail,
	}
	if !p.sent.IsZero() {
		line.Seconds = e.Time.Sub(p.sent).Seconds()
	}
	l.write(line)
}

// hook writes one event of a hook.
func (l *Log) hook(e apply.Event) {
	if e.ID == (object.ID{}) {
		return
	}
	if e.Log != nil {
		l.write(hookLog(e))
		return
	}
	if e.State == apply.Applying || e.State == apply.Deleting {
		if l.hooks == nil {
			l.hooks = map[object.ID]time.Time{}
		}
		if e.Detail == "" {
			l.hooks[e.ID] = e.Time
		}
	}
	line := Hook{
		Head: head(TypeHook, e.Time), ID: id(e.ID), Event: e.Hook,
		Operation: operation(e.Op), State: state(e.State), Final: e.State.Final(), Message: e.Detail,
	}
	if begun, known := l.hooks[e.ID]; known {
		line.Seconds = e.Time.Sub(begun).Seconds()
	}
	l.write(line)
}

func hookLog(e apply.Event) HookLog {
	line := HookLog{
		Head: head(TypeHookLog, e.Time), ID: id(e.ID), Event: e.Hook,
		Pod: e.Log.Pod.Name, Container: e.Log.Container, Log: e.Log.Lines,
	}
	if e.Log.Err != nil {
		line.Message = e.Log.Err.Error()
	}
	return line
}

// endWave closes the open wave.
func (l *Log) endWave(how string, at time.Time) {
	counts := map[string]int{}
	for _, p := range l.waves[l.open] {
		counts[state(p.state)]++
	}
	l.write(WaveEnd{Head: head(TypeWaveEnd, at), Wave: l.wave(l.open), State: how, Seconds: at.Sub(l.since).Seconds(), Counts: counts})
	l.open = -1
}

// Outcome is the result of a run.
type Outcome struct {
	Summary  apply.Summary
	Warnings []string  // from the API server
	Err      error     // nil if the run succeeded; each of joined errors gets a line
	ExitCode int       // of the command
	State    string    // done, failed, timedOut or interrupted
	Rollback *Rollback // nil if there was none
}

// Rollback is the result of the rollback after a failed run.
type Rollback struct {
	Revision int // 0 if there was none
	Summary  apply.Summary
	Err      error
	State    string // as in Outcome
}

// End writes the warnings, each error, and the last line.
func (l *Log) End(o Outcome) {
	now := time.Now()
	if l.open >= 0 {
		l.endWave(o.last(), l.last)
	}
	for _, text := range o.Warnings {
		l.write(Warning{Head: head(TypeWarning, now), Source: "server", Message: text})
	}
	run := &l.act
	if l.failed != nil {
		run = l.failed
	}
	for _, err := range FlattenErrors(o.Err) {
		l.write(run.failure(err, now))
	}
	end := RunEnd{Head: head(TypeRunEnd, now), State: o.State, ExitCode: o.ExitCode, Seconds: o.Summary.Took.Seconds(), Counts: counts(o.Summary), Assumed: o.Summary.Assumed()}
	if back := o.Rollback; back != nil {
		for _, err := range FlattenErrors(back.Err) {
			line := l.failure(err, now)
			line.Rollback = true
			l.write(line)
		}
		if back.Revision > 0 {
			end.Rollback = &RollbackEnd{Revision: back.Revision, State: back.State, Seconds: back.Summary.Took.Seconds(), Counts: counts(back.Summary)}
		}
	}
	l.write(end)
}

// last returns the state of the last part: the rollback if there was one.
func (o Outcome) last() string {
	if o.Rollback != nil {
		return o.Rollback.State
	}
	return o.State
}

func counts(s apply.Summary) map[string]int {
	out := map[string]int{}
	for _, r := range s.Results {
		out[state(r.State)]++
	}
	return out
}

func (a *act) failure(err error, at time.Time) Error {
	line := Error{Head: head(TypeError, at), Message: err.Error()}
	var of *apply.Error
	if errors.As(err, &of) {
		named := id(of.ID)
		line.Resource = &named
		if p := a.place[of.ID]; p != nil {
			line.Wave, line.Layer = p.step.Wave+1, p.step.Layer
		}
		line.diagnose(of.Diagnosis)
	}
	return line
}

func (e *Error) diagnose(d *apply.Diagnosis) {
	if d == nil {
		return
	}
	for _, f := range d.Findings {
		found := Finding{Text: f.Text, Log: f.Log}
		if f.About != (object.ID{}) {
			about := id(f.About)
			found.About = &about
		}
		e.Diagnosis = append(e.Diagnosis, found)
	}
	for _, blocked := range d.Blocks {
		e.Blocks = append(e.Blocks, id(blocked))
	}
}

// FlattenErrors flattens joined errors. An error with text of its own is kept whole.
func FlattenErrors(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		var said []string
		for _, one := range joined.Unwrap() {
			all = append(all, FlattenErrors(one)...)
			said = append(said, one.Error())
		}
		if strings.Join(said, "\n") == err.Error() {
			return all
		}
	}
	if inner := errors.Unwrap(err); inner != nil && inner.Error() == err.Error() {
		return FlattenErrors(inner)
	}
	return []error{err}
}

func head(kind string, at time.Time) Head {
	return Head{Version: Version, Type: kind, Timestamp: at.UTC()}
}

func id(of object.ID) ID {
	return ID{Group: of.Group, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
}

func operation(op apply.Op) string {
	if op == apply.OpWait {
		return "wait"
	}
	return string(op)
}

// state returns a state as one word.
func state(s apply.State) string {
	switch s {
	case apply.TimedOut:
		return "timedOut"
	case apply.NotStarted:
		return "notStarted"
	}
	return string(s)
}

func (l *Log) write(line any) {
	text, err := json.Marshal(line)
	if err != nil { // the types of this package always marshal
		panic(err)
	}
	_, _ = l.w.Write(append(plain.JSON(text), '\n'))
}
