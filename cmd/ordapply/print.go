package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/diagnose"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// printer prints a run as text: results on standard output as kubectl does, and
// progress on standard error, one line for each event with news.
type printer struct {
	session
	out, err io.Writer
	results  results
	dryRun   bool
	started  map[object.ID]time.Time
	width    int
}

// results selects what is printed on standard output for each applied resource.
type results int

const (
	kubectlLines results = iota // "deployment.apps/web serverside-applied"
	namesOnly                   // "deployment.apps/web"
	noResults
)

func newPrinter(j session, o outputs, dryRun bool) *printer {
	p := &printer{session: j, out: o.out, err: o.err, dryRun: dryRun, started: map[object.ID]time.Time{}}
	for _, s := range p.plan.Steps {
		p.width = max(p.width, len(s.ID.String()))
	}
	p.width = min(p.width, 50)
	return p
}

func (p *printer) begin() {
	plain.Fprintf(p.err, "applying %s in %s to %s%s\n", plain.Count(len(p.plan.Steps), "resource"), plain.Count(len(p.plan.Waves), "wave"), p.target.server, p.target.of())
	p.notes(p.plan.Notes)
	if p.dryRun {
		p.plan.WriteHooks(p.err) // a dry run does not run them
	}
}

func (p *printer) notes(notes []string) {
	for _, note := range notes {
		plain.Fprintf(p.err, "note: %s\n", note)
	}
}

func (p *printer) event(e apply.Event) {
	if e.Hook != "" {
		p.hook(e)
		return
	}
	if e.ID == (object.ID{}) {
		plain.Fprintf(p.err, "%s: %s\n", p.plan.WaveTitle(e.Wave), p.waveWords(e))
		return
	}
	if e.State == apply.Applying && e.Detail == "" {
		p.started[e.ID] = e.Time
	}
	if words := p.words(e); words != "" {
		plain.Fprintf(p.err, "  %-*s  %s\n", p.width, e.ID.String(), words)
	}
	p.result(e)
}

// hook prints an event of a hook. Hooks have no wave and no result line.
func (p *printer) hook(e apply.Event) {
	if e.ID == (object.ID{}) {
		n, _ := strconv.Atoi(e.Detail)
		plain.Fprintf(p.err, "%s: %s\n", e.Hook, plain.Count(n, "hook"))
		return
	}
	if e.Log != nil {
		p.log(e)
		return
	}
	if (e.State == apply.Applying || e.State == apply.Deleting) && e.Detail == "" {
		p.started[e.ID] = e.Time
	}
	words := p.words(e)
	switch e.State {
	case apply.Deleting:
		words = e.Detail
	case apply.Applied:
		words = "applied"
	case apply.Ready:
		words = fmt.Sprintf("done (%s)", e.Time.Sub(p.started[e.ID]).Round(10*time.Millisecond))
	}
	if words != "" {
		plain.Fprintf(p.err, "  %s  %s\n", hookName(e), words)
	}
}

// log prints what a container of a hook wrote.
func (p *printer) log(e apply.Event) {
	if e.Log.Err != nil {
		p.notes([]string{hookName(e) + ": " + e.Log.Err.Error()})
		return
	}
	part := ""
	if len(e.Log.Lines) >= diagnose.PodLogLines {
		part = fmt.Sprintf("the last %d lines of ", diagnose.PodLogLines)
	}
	plain.Fprintf(p.err, "  %s  %sthe log of container %s of %s\n", hookName(e), part, e.Log.Container, e.Log.Pod)
	for _, line := range e.Log.Lines {
		plain.Fprintf(p.err, "    | %s\n", line)
	}
}

// extend prints the waves that a prune adds to the run.
func (p *printer) extend(plan *ordering.Plan) {
	more, notes := len(plan.Steps)-len(p.plan.Steps), plan.Notes[len(p.plan.Notes):]
	p.plan = plan
	if more > 0 {
		plain.Fprintf(p.err, "pruning %s that the stream no longer contains\n", plain.Count(more, "resource"))
	}
	p.notes(notes)
}

// rollBack prints that the run failed and which plan follows.
func (p *printer) rollBack(revision int, plan *ordering.Plan) {
	p.plan = plan
	if revision == 0 {
		plain.Fprintf(p.err, "the run failed, and no revision was deployed before: deleting %s that it created\n", plain.Count(len(plan.Steps), "resource"))
	} else if len(plan.Steps) == 0 {
		plain.Fprintf(p.err, "the run failed; rolling back to revision %d\n", revision)
	} else {
		plain.Fprintf(p.err, "the run failed; rolling back to revision %d: applying %s in %s\n", revision, plain.Count(len(plan.Steps), "resource"), plain.Count(len(plan.Waves), "wave"))
	}
	for _, note := range plan.Notes {
		plain.Fprintf(p.err, "note: %s\n", note)
	}
}

func (p *printer) waveWords(e apply.Event) string {
	if e.EndsWave() {
		return p.ended(e.State) + " in " + e.Detail
	}
	return e.Detail
}

// ended returns the final state of a resource or wave. A dry run deletes
// nothing.
func (p *printer) ended(state apply.State) string {
	if p.dryRun && state == apply.Deleted {
		return "would be deleted"
	}
	return string(state)
}

// words returns the text for an event, or "" if it has none.
func (p *printer) words(e apply.Event) string {
	switch e.State {
	case apply.Pending:
		return ""
	case apply.Applying, apply.Waiting:
		if e.Detail == "" {
			return ""
		}
		return "waiting: " + e.Detail
	case apply.Ready:
		how := "unchanged"
		if !e.Unchanged {
			how = e.Time.Sub(p.started[e.ID]).Round(10 * time.Millisecond).String()
		}
		if e.Detail != "" {
			how += "; " + e.Detail
		}
		return "ready (" + how + ")"
	case apply.Applied:
		if p.dryRun {
			return "valid (server dry run)"
		}
		return "applied, not waited for"
	case apply.NotStarted:
		return ""
	case apply.Deleted:
		if p.dryRun {
			return p.ended(apply.Deleted) + " (server dry run)"
		}
	}
	if e.Detail == "" {
		return string(e.State)
	}
	return fmt.Sprintf("%s: %s", e.State, e.Detail)
}

// result prints an applied resource on standard output, as kubectl does.
func (p *printer) result(e apply.Event) {
	if e.Hook != "" {
		return
	}
	over := e.State == apply.Waiting && e.Detail == "" || e.State == apply.Deleted
	if p.results == noResults || !over || e.ID == (object.ID{}) {
		return
	}
	line := resourceName(e.ID)
	if p.results == kubectlLines {
		switch {
		case e.State == apply.Deleted:
			line += " pruned"
		case e.Unchanged:
			line += " unchanged"
		default:
			line += " serverside-applied"
		}
		if p.dryRun {
			line += " (server dry run)"
		}
	}
	plain.Fprintln(p.out, line)
}

// resourceName returns a name as kubectl prints and accepts it:
// "deployment.apps/web".
func resourceName(id object.ID) string {
	return plain.Line(strings.ToLower(id.GroupKind()) + "/" + id.Name)
}

// end prints the API server's warnings and one line each about the run and its
// rollback.
func (p *printer) end(o events.Outcome) {
	for _, text := range o.Warnings {
		plain.Fprintf(p.err, "warning from the server: %s\n", text)
	}
	if words := p.summarize(o.Summary); words != "" { // otherwise the run did not start; the error says why
		plain.Fprintln(p.err, words)
	}
	if back := o.Rollback; back != nil {
		if words := p.summarize(back.Summary); words != "" {
			plain.Fprintf(p.err, "%s: %s\n", describeRollback(back.Revision), words)
		}
	}
}

// describeRollback names what follows a failure: a rollback or, if no revision was
// deployed before, the deletion of what the run created.
func describeRollback(revision int) string {
	if revision == 0 {
		return "deleting what the run created"
	}
	return fmt.Sprintf("rollback to revision %d", revision)
}

// summarize returns the number of resources by final state, and the duration.
func (p *printer) summarize(s apply.Summary) string {
	var parts []string
	for _, state := range []apply.State{apply.Ready, apply.Applied, apply.Deferred, apply.Deleted, apply.Kept, apply.Unsettled, apply.Failed, apply.TimedOut, apply.Skipped, apply.NotStarted} {
		if n := s.Count(state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, p.ended(state)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	took := s.Took.Round(10 * time.Millisecond).String()
	if n := s.Unchanged(); n > 0 {
		took += fmt.Sprintf("; %d unchanged", n)
	}
	if n := s.Assumed(); n > 0 {
		took += fmt.Sprintf("; %d only assumed ready", n)
	}
	if n := len(s.Hooks); n > 0 {
		took += "; " + plain.Count(n, "hook") + " ran"
	}
	return fmt.Sprintf("%s, in %s", strings.Join(parts, ", "), took)
}
