package run

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/view/events"
)

// tally holds the facts about a cluster's run.
type tally struct {
	wrote      bool // something was written, or a hook ran
	rolledBack bool
	counts     event.Counts // at the end
}

// take reads a transition of the run.
func (t *tally) take(change track.Transition) {
	switch change.Kind {
	case track.WaveOpened, track.WaveEnded, track.HooksBegan, track.Unknown:
		return
	}
	t.wrote = t.wrote || change.Hook != nil || change.State.Final() && !change.Unchanged
}

// words describes the resources at the end of a run: "18 ready, 1 failed".
func (t *tally) words() string {
	text := t.counts.Text(nil)
	if t.rolledBack {
		text += "; rolled back"
	}
	return text
}

var _ report.Recorder = (*follower)(nil)

// follower reports the run on a cluster to the console of its fleet.
type follower struct {
	to      *fleetConsole
	cluster string
	tally   *tally
	log     *events.Log // nil unless standard output is JSON
}

// follow returns the reporter of the run on a cluster.
func (c *fleetConsole) follow(cluster string, start events.RunStart) *follower {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[cluster] == nil {
		c.runs[cluster] = &tally{}
	}
	f := &follower{to: c, cluster: cluster, tally: c.runs[cluster]}
	if c.json {
		f.log = events.NewLog(c.out.Out, start).In(cluster)
	}
	return f
}

// locked calls do for the log, if there is one, and prints remarks about the cluster.
func (f *follower) locked(do func(*events.Log), remarks ...string) {
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	if f.log != nil {
		do(f.log)
	}
	for _, text := range remarks {
		f.to.remark(f.cluster, text)
	}
}

func notes(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = "note: " + text
	}
	return out
}

// Begin implements report.Reporter.
func (f *follower) Begin(run *track.Tracker) {
	f.locked(func(l *events.Log) { l.Begin(run) }, notes(run.Plan.Notes)...)
}

// Event implements report.Reporter.
func (f *follower) Event(t track.Transition) {
	f.locked(func(l *events.Log) { l.Event(t) })
	f.tally.take(t)
}

// Extend implements report.Reporter.
func (f *follower) Extend(more track.Extension) {
	f.locked(func(l *events.Log) { l.Extend(more) }, notes(more.Notes)...)
}

// RollBack implements report.Reporter.
func (f *follower) RollBack(revision int, run *track.Tracker) {
	f.tally.rolledBack, f.tally.wrote = true, true
	f.locked(func(l *events.Log) { l.RollBack(revision, run) }, notes(run.Plan.Notes)...)
}

// Revision implements report.Recorder.
func (f *follower) Revision(number int, user string) {
	f.locked(func(l *events.Log) { l.Revision(number, user) })
}

// LostOrder implements report.Recorder.
func (f *follower) LostOrder(lost error) {
	f.locked(func(l *events.Log) { l.LostOrder(lost) })
}

// End implements report.Reporter.
func (f *follower) End(o events.Outcome) {
	f.tally.counts = o.Summary.Counts()
	var remarks []string
	for _, text := range o.Warnings {
		remarks = append(remarks, "warning from the server: "+text)
	}
	if o.Untraced != nil {
		remarks = append(remarks, "warning: the trace is incomplete: "+o.Untraced.Error())
	}
	f.locked(func(l *events.Log) { l.End(o) }, append(remarks, notes(o.Summary.OwnerNotes())...)...)
}

// outcomeText describes the outcome of a cluster's run.
func outcomeText(o fleet.Outcome, t *tally) string {
	parts := []string{}
	switch {
	case o.State == fleet.TimedOut:
		parts = append(parts, "timed out")
	case o.State != fleet.Done:
		parts = append(parts, string(o.State))
	}
	if words := t.words(); words != "" {
		parts = append(parts, words)
	}
	text := strings.Join(parts, ": ")
	if o.State == fleet.Done && o.Unchanged {
		text += ", unchanged"
	}
	return fmt.Sprintf("%s (%s)", text, rounded(o.Took()))
}

// rounded returns a duration to 0.1s, from a minute on to 1s.
func rounded(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// lineWriter calls each for whole lines, without the newline. A run writes from several
// goroutines.
type lineWriter struct {
	each func(line []byte)

	mu   sync.Mutex
	rest []byte
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		if !found {
			w.rest = append(w.rest, p...)
			return n, nil
		}
		if len(w.rest) > 0 {
			line = append(w.rest, line...)
			w.rest = nil
		}
		w.each(line)
		p = rest
	}
}

// Close passes on the text after the last newline.
func (w *lineWriter) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.each(w.rest)
		w.rest = nil
	}
}
