package html

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/view/events"
)

// Run is one command, read from its events.
type Run struct {
	events.Origin
	Server, Context string
	DryRun          bool
	Schedule        string
	Began, Ended    time.Time // of the first and the last line
	State           string    // of the last line: done, failed, timedOut, interrupted; "" when it is missing
	ExitCode        int
	Warnings        []string
	Parts           []*Part // the run, and its rollback if there was one
}

// Part is a run, or its rollback. Its waves are numbered from 1.
type Part struct {
	Revision  int    // that it applies; 0 for none, and until it is stored
	User      string // the account that stored the revision
	Rollback  bool
	Began     time.Time
	Waves     []Wave
	Resources []*Resource // in the order of the plan, as far as it is known
	Hooks     []*Resource
	Errors    []events.Error

	byID map[events.ID]*Resource
}

// Wave is one wave of a part.
type Wave struct {
	events.Wave
	Opened, Ended time.Time // zero when it did not
	State         string    // of its end
}

// Resource is the course of one resource or hook. Times are zero when it did not get that
// far.
type Resource struct {
	events.Planned
	Event                  string // of a hook
	State, Health, Message string
	events.Change
	Assumed, Deletes            bool
	Queued, Sent, Applied, Done time.Time
	Notes                       []Note // its messages, in order
}

// Note is a resource's message at a time.
type Note struct {
	At    time.Time
	State string
	Text  string
}

// Read reads the lines of one command. It ignores types of lines that it does not know.
// An error names the line. A stream that ends early, also within a line because the
// command was killed, is a run whose State is "".
func Read(r io.Reader) (*Run, error) {
	run := &Run{}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		cut := errors.Is(err, io.EOF)
		if err != nil && !cut {
			return nil, err
		}
		if fault := run.take(line); fault != nil && (!cut || n == 1) {
			return nil, fmt.Errorf("line %d: %w", n, fault)
		}
		if cut {
			break
		}
	}
	if run.Began.IsZero() {
		return nil, errors.New("no events: save the output of `ordapply apply -o json`")
	}
	return run, nil
}

// take reads one event; an empty line has none.
func (run *Run) take(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	var head events.Head
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("not an event (%w): give the output of `ordapply apply -o json`", err)
	}
	if head.Version > events.Version {
		return fmt.Errorf("events of version %d, and this program knows %d: use a newer ordapply", head.Version, events.Version)
	}
	line, err := decode(head, text)
	if err == nil {
		run.Take(line)
	}
	return err
}

// decode returns an event as a value of its type; of a type that it does not know, the head.
func decode(head events.Head, text []byte) (any, error) {
	switch head.Type {
	case events.TypeRunStart:
		return as[events.RunStart](text)
	case events.TypeRollbackStart:
		return as[events.RollbackStart](text)
	case events.TypeWarning:
		return as[events.Warning](text)
	case events.TypeRunEnd:
		return as[events.RunEnd](text)
	case events.TypeError:
		return as[events.Error](text)
	case events.TypePlan:
		return as[events.Plan](text)
	case events.TypeRevision:
		return as[events.Revision](text)
	case events.TypeWaveStart:
		return as[events.WaveStart](text)
	case events.TypeWaveEnd:
		return as[events.WaveEnd](text)
	case events.TypeResource:
		return as[events.Resource](text)
	case events.TypeHook:
		return as[events.Hook](text)
	}
	return head, nil
}

func as[T any](text []byte) (any, error) {
	var line T
	err := json.Unmarshal(text, &line)
	return line, err
}

// Take records an event, which is a value of one of package events' types.
func (run *Run) Take(line any) {
	if line, ok := line.(events.Line); ok {
		run.at(line.Start())
	}
	switch line := line.(type) {
	case events.RunStart:
		run.start(line)
	case events.RollbackStart:
		run.rollBack(line)
	case events.Warning:
		run.Warnings = append(run.Warnings, line.Message)
	case events.RunEnd:
		run.State, run.ExitCode = line.State, line.ExitCode
	case events.Error:
		run.fail(line)
	default:
		run.takeStep(line)
	}
}

// takeStep records an event of a wave, a resource or a hook.
func (run *Run) takeStep(line any) {
	p := &Part{byID: map[events.ID]*Resource{}} // of lines before any run, which are lost
	if len(run.Parts) > 0 {
		p = run.last()
	}
	switch line := line.(type) {
	case events.Plan:
		p.planned(line)
	case events.Revision:
		p.Revision, p.User = line.Revision, line.User
	case events.WaveStart:
		p.wave(line.Wave).Opened = line.Timestamp
	case events.WaveEnd:
		w := p.wave(line.Wave)
		w.Ended, w.State = line.Timestamp, line.State
	case events.Resource:
		p.transition(line)
	case events.Hook:
		p.hook(line)
	}
}

// at records the time of an event.
func (run *Run) at(head events.Head) {
	if run.Began.IsZero() {
		run.Began = head.Timestamp
	}
	run.Ended = head.Timestamp
}

func (run *Run) last() *Part { return run.Parts[len(run.Parts)-1] }

func (run *Run) start(line events.RunStart) {
	run.Origin = line.Origin
	run.Server, run.Context, run.DryRun, run.Schedule = line.Server, line.Context, line.DryRun, line.Schedule
	run.Parts = append(run.Parts, newPart(line.Timestamp, line.Waves))
}

func (run *Run) rollBack(line events.RollbackStart) {
	p := newPart(line.Timestamp, line.Waves)
	p.Revision, p.Rollback = line.Revision, true
	run.Parts = append(run.Parts, p)
}

// fail records an error with the part that it is of.
func (run *Run) fail(line events.Error) {
	if len(run.Parts) == 0 {
		run.Parts = append(run.Parts, newPart(line.Timestamp, nil))
	}
	p := run.Parts[0]
	if line.Rollback {
		p = run.last()
	}
	p.Errors = append(p.Errors, line)
}

func newPart(began time.Time, waves []events.Wave) *Part {
	p := &Part{Began: began, byID: map[events.ID]*Resource{}}
	for _, w := range waves {
		w.Wave = len(p.Waves) + 1
		p.Waves = append(p.Waves, Wave{Wave: w})
	}
	return p
}

// planned records the needs of each resource.
func (p *Part) planned(line events.Plan) {
	for _, planned := range line.Resources {
		planned.Wave, planned.ReadyBy = bounded(planned.Wave), bounded(planned.ReadyBy)
		p.resource(planned.ID).Planned = planned
	}
}

// maxWave is the highest number of a wave that is believed: no plan has as many, and a
// file may say anything.
const maxWave = 20_000

// bounded returns a wave's number between 1 and maxWave.
func bounded(wave int) int { return min(max(wave, 1), maxWave) }

// wave returns the wave of a line; a prune adds waves to the first line's.
func (p *Part) wave(line events.Wave) *Wave {
	line.Wave = bounded(line.Wave)
	for len(p.Waves) < line.Wave {
		p.Waves = append(p.Waves, Wave{Wave: events.Wave{Wave: len(p.Waves) + 1}})
	}
	w := &p.Waves[line.Wave-1]
	w.Wave = line
	return w
}

func (p *Part) resource(id events.ID) *Resource {
	r := p.byID[id]
	if r == nil {
		r = &Resource{Planned: events.Planned{ID: id}, Queued: p.Began}
		p.byID[id] = r
		p.Resources = append(p.Resources, r)
	}
	return r
}

// transition records the transition of a resource.
func (p *Part) transition(line events.Resource) {
	r := p.resource(line.ID)
	r.Planned.Wave, r.Layer = bounded(line.Wave), line.Layer
	if n := r.Planned.Wave - 1; n < len(p.Waves) && !p.Waves[n].Opened.IsZero() {
		r.Queued = p.Waves[n].Opened
	}
	r.Health, r.Change, r.Assumed, r.Deletes = line.Health, line.Change, line.Assumed, line.Operation == "delete"
	r.move(line.Timestamp, line.State, line.Message, line.Final)
	if line.Final && line.Seconds > 0 { // a resource with no line since it was sent
		r.Sent = line.Timestamp.Add(-seconds(line.Seconds))
	}
}

// hook records the transition of a hook; an operation that follows another is a row of
// its own.
func (p *Part) hook(line events.Hook) {
	var r *Resource
	if n := len(p.Hooks) - 1; n >= 0 && p.Hooks[n].ID == line.ID && p.Hooks[n].Event == line.Event && p.Hooks[n].Done.IsZero() {
		r = p.Hooks[n]
	} else {
		r = &Resource{Planned: events.Planned{ID: line.ID}, Event: line.Event, Queued: line.Timestamp}
		p.Hooks = append(p.Hooks, r)
	}
	r.move(line.Timestamp, line.State, line.Message, line.Final)
}

// move records a state and when it began.
func (r *Resource) move(at time.Time, state, message string, final bool) {
	if r.Sent.IsZero() && (state == "applying" || state == "deleting") {
		r.Sent = at
	}
	if r.Applied.IsZero() && state == "waiting" {
		r.Applied = at
	}
	if final {
		r.Done = at
	}
	r.State, r.Message = state, message
	if message != "" {
		r.Notes = append(r.Notes, Note{at, state, message})
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
