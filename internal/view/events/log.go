package events

import (
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Log writes the event stream of one run as JSON lines, in this order: Begin, any number of Event,
// optionally RollBack and more events, End. Errors before a run starts are
// passed to End alone.
type Log struct {
	emit    func(line any)
	cluster string // of a fleet; "" otherwise
	start   RunStart
	run     *track.Tracker // of the rollback, once it began; nil before the run
	failed  *track.Tracker // of the run that failed before a rollback, or nil

	revision int // of the run, not of its rollback; 0 without one
}

// NewLog returns a Log that writes a whole line with each Write. It ignores errors of w.
// The caller sets the fields of start that are not in the plan.
func NewLog(w io.Writer, start RunStart) *Log {
	return Follow(func(line any) { Write(w, line) }, start)
}

// Follow returns a Log that passes on each line as a value of this package's types.
func Follow(emit func(line any), start RunStart) *Log { return &Log{emit: emit, start: start} }

// In returns the Log of a run on a cluster of a fleet, which each line names.
func (l *Log) In(cluster string) *Log {
	l.cluster = cluster
	return l
}

// Begin writes the first line of a run.
func (l *Log) Begin(run *track.Tracker) {
	l.run = run
	line := l.start
	line.Head = l.head(TypeRunStart, time.Now())
	line.Resources, line.Waves = len(run.Resources), l.waves()
	l.emit(line)
	l.plan()
	l.notes(run.Plan.Notes)
}

// RollBack reports that the run failed and rolls back to a revision, which is a run of
// its own.
func (l *Log) RollBack(revision int, run *track.Tracker) {
	if l.run.Open != track.None {
		how := event.TimedOut
		if l.run.Count(l.run.Open)[event.Failed] > 0 {
			how = event.Failed
		}
		l.endWave(l.run.Open, state(how), l.run.Last)
	}
	l.failed, l.run = l.run, run
	l.emit(RollbackStart{Head: l.head(TypeRollbackStart, time.Now()), Revision: revision, Resources: len(run.Resources), Waves: l.waves()})
	l.plan()
	l.notes(run.Plan.Notes)
}

// plan writes the needs of each resource.
func (l *Log) plan() {
	line := Plan{Head: l.head(TypePlan, time.Now()), Resources: []Planned{}}
	for _, s := range l.run.Plan.Steps {
		planned := Planned{ID: id(s.ID), Wave: s.Wave + 1, ReadyBy: s.ReadyBy + 1, Layer: s.Layer, Gate: s.Gate.String()}
		for _, n := range s.Needs {
			planned.Needs = append(planned.Needs, Need{ID: id(n.ID), Gate: n.Gate.String(), Declared: n.Hard, Reason: n.Why.String()})
		}
		line.Resources = append(line.Resources, planned)
	}
	l.emit(line)
}

// waves returns the descriptions of all waves.
func (l *Log) waves() []Wave {
	waves := []Wave{}
	for n := range l.run.Waves {
		waves = append(waves, l.wave(n))
	}
	return waves
}

// notes writes the notes of a plan.
func (l *Log) notes(notes []string) {
	for _, note := range notes {
		l.emit(Warning{Head: l.head(TypeWarning, time.Now()), Source: "plan", Message: note})
	}
}

// Revision reports the revision that the run applies, and the account that stored it; "" if an
// earlier run did.
func (l *Log) Revision(number int, user string) {
	if l.failed == nil {
		l.revision = number
	}
	l.emit(Revision{Head: l.head(TypeRevision, time.Now()), Revision: number, User: user})
}

// LostOrder writes a warning that objects of the stream lost their order.
func (l *Log) LostOrder(lost error) {
	l.emit(Warning{Head: l.head(TypeWarning, time.Now()), Source: "order", Message: lost.Error()})
}

// Extend writes the notes of a prune that follows the run.
func (l *Log) Extend(more track.Extension) { l.notes(more.Notes) }

// wave returns the description of a wave of the plan, from 0.
func (l *Log) wave(n int) Wave {
	return Wave{Wave: n + 1, Name: l.run.Plan.Waves[n].Name, Resources: len(l.run.Waves[n].Members)}
}

// Event writes one event.
func (l *Log) Event(t track.Transition) {
	switch t.Kind {
	case track.WaveOpened:
		l.emit(WaveStart{Head: l.head(TypeWaveStart, t.Time), Wave: l.wave(t.Wave)})
	case track.WaveEnded:
		l.endWave(t.Wave, state(t.State), t.Time)
	case track.HookLogged:
		l.emit(l.hookLog(t.Event))
	case track.HooksBegan, track.Unknown:
	default:
		l.emit(l.line(t))
	}
}

// line returns the line about a transition of a resource or a hook.
func (l *Log) line(t track.Transition) any {
	if t.Hook != nil {
		return Hook{
			Head: l.head(TypeHook, t.Time), ID: id(t.ID), Event: t.Hook.Event,
			Operation: operation(t.Op), State: state(t.State), Final: t.State.Final(), Message: t.Detail, Seconds: t.Took().Seconds(),
		}
	}
	return Resource{
		Head: l.head(TypeResource, t.Time), ID: id(t.ID), Wave: t.Wave + 1, Layer: t.Layer,
		Operation: operation(t.Op), State: state(t.State), Final: t.State.Final(), Change: Change(t.Change),
		Assumed: t.Assumed, Health: t.Health.String(), Message: t.Detail, Seconds: t.Took().Seconds(),
	}
}

func (l *Log) hookLog(e event.Event) HookLog {
	log := e.Hook.Log
	line := HookLog{
		Head: l.head(TypeHookLog, e.Time), ID: id(e.ID), Event: e.Hook.Event,
		Pod: log.Pod.Name, Container: log.Container, Log: log.Lines,
	}
	if log.Err != nil {
		line.Message = log.Err.Error()
	}
	return line
}

// endWave writes that a wave ended.
func (l *Log) endWave(n int, how string, at time.Time) {
	took := at.Sub(l.run.Waves[n].Opened).Seconds()
	l.emit(WaveEnd{Head: l.head(TypeWaveEnd, at), Wave: l.wave(n), State: how, Seconds: took, Counts: Counts(l.run.Count(n))})
}

// Outcome is the result of a run.
type Outcome struct {
	Summary  event.Summary
	Warnings []string  // from the API server
	Page     string    // the file of --report; "" if none was written
	Untraced error     // why the trace is incomplete; nil if it is complete or not asked for
	Err      error     // nil if the run succeeded; each of joined errors gets a line
	ExitCode int       // of the command
	State    string    // done, failed, timedOut or interrupted
	Rollback *Rollback // nil if there was none
}

// Rollback is the result of the rollback after a failed run.
type Rollback struct {
	Revision int // 0 if there was none
	Summary  event.Summary
	Err      error
	State    string // as in Outcome
}

// End writes the warnings, each error, and the last line.
func (l *Log) End(o Outcome) {
	now := time.Now()
	if l.run != nil && l.run.Open != track.None {
		l.endWave(l.run.Open, o.last(), l.run.Last)
	}
	for _, text := range o.Warnings {
		l.emit(Warning{Head: l.head(TypeWarning, now), Source: "server", Message: text})
	}
	if o.Untraced != nil {
		l.emit(Warning{Head: l.head(TypeWarning, now), Source: "trace", Message: "the trace is incomplete: " + o.Untraced.Error()})
	}
	l.notes(o.Summary.OwnerNotes())
	for _, err := range ordering.FlattenErrors(o.Err) {
		l.emit(l.failure(cmp.Or(l.failed, l.run), err, now))
	}
	end := RunEnd{Head: l.head(TypeRunEnd, now), SetName: l.start.SetName, Revision: l.revision, State: o.State, ExitCode: o.ExitCode, Seconds: o.Summary.Took.Seconds(), Counts: Counts(o.Summary.Counts()), Assumed: o.Summary.Assumed()}
	if back := o.Rollback; back != nil {
		for _, err := range ordering.FlattenErrors(back.Err) {
			line := l.failure(l.run, err, now)
			line.Rollback = true
			l.emit(line)
		}
		if back.Revision > 0 {
			end.Rollback = &RollbackEnd{Revision: back.Revision, State: back.State, Seconds: back.Summary.Took.Seconds(), Counts: Counts(back.Summary.Counts())}
		}
	}
	l.emit(end)
}

// last returns the state of the last part: the rollback if there was one.
func (o Outcome) last() string {
	if o.Rollback != nil {
		return o.Rollback.State
	}
	return o.State
}

// Counts returns numbers by the name of the state, as lines have them.
func Counts(by event.Counts) map[string]int {
	out := map[string]int{}
	for s, n := range by {
		out[state(s)] = n
	}
	return out
}

// failure returns the line about an error of a run, which is nil if it did not begin.
func (l *Log) failure(run *track.Tracker, err error, at time.Time) Error {
	line := Error{Head: l.head(TypeError, at), Message: err.Error()}
	var of *event.Error
	if errors.As(err, &of) {
		named := id(of.ID)
		line.Resource = &named
		if step := run.Step(of.ID); step != nil {
			line.Wave, line.Layer = step.Wave+1, step.Layer
		}
		line.diagnose(of.Diagnosis)
	}
	return line
}

func (e *Error) diagnose(d *event.Diagnosis) {
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

func (l *Log) head(kind string, at time.Time) Head { return NewHead(kind, l.cluster, at) }

func id(of object.ID) ID {
	return ID{Group: of.Group, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
}

func operation(op event.Op) string {
	if op == event.OpWait {
		return "wait"
	}
	return string(op)
}

// state returns a state as one word.
func state(s event.State) string {
	switch s {
	case event.TimedOut:
		return "timedOut"
	case event.NotStarted:
		return "notStarted"
	}
	return string(s)
}
