package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// printer prints a run as text: results on standard output as kubectl does, and
// progress on standard error, one line for each event with news.
type printer struct {
	plan     *ordering.Plan
	at       string // the cluster, and where its address comes from
	out, err io.Writer
	results  results
	dryRun   bool
	width    int // of the names

	first     holder // of the first line, until another one; nil: it is printed at once
	everyLine bool   // also one for each unchanged resource
	folded    int    // unchanged resources that no line was printed for yet
	opened    string // the line of the open wave, until something in the wave changes
	sharing   sharing
	shade     func(terminal.Line) string // colours a line; nil: as it is
}

// holder is a writer of the lines of a printer that holds the first one back.
type holder interface {
	// Hold writes text before the next text, or after some time, unless Drop comes first.
	Hold(text []byte, most time.Duration)
	// Drop discards the held text, and reports whether there was any.
	Drop() bool
}

// firstLineAfter is the time after which the first line is printed although none follows: until
// then a run that changes nothing is over, or says nothing for an unusual time.
const firstLineAfter = 2 * time.Second

// results selects the line on standard output for each applied resource.
type results int

const (
	kubectlLines results = iota // "deployment.apps/web serverside-applied"
	namesOnly                   // "deployment.apps/web"
	noResults
)

func newPrinter(at *connect.Target, o Outputs, how Options) *printer {
	p := &printer{at: at.String(), out: o.Out, err: o.Err, dryRun: how.DryRun}
	if !how.Deletion && !how.Rollback && !how.DryRun {
		p.first = o.Err
	}
	return p
}

// Begin implements Reporter.
func (p *printer) Begin(run *track.Tracker) {
	p.begin("applying", "to", "; "+run.Plan.OrderedBy(), run)
	if p.dryRun {
		p.plan.WriteHooks(p.err, func(ordering.PlannedHook) bool { return true }) // a dry run does not run them
	}
}

// begin prints the operation with its cluster, and the notes of the plan.
func (p *printer) begin(doing, preposition, order string, run *track.Tracker) {
	p.setPlan(run.Plan)
	for _, s := range p.plan.Steps {
		p.width = min(50, max(p.width, len(s.ID.String())))
	}
	line := plain.Sprintf("%s %s %s %s%s\n", doing, planSize(p.plan), preposition, p.at, order)
	if p.first != nil && !p.everyLine {
		p.first.Hold([]byte(line), firstLineAfter)
	} else {
		_, _ = io.WriteString(p.err, line)
	}
	_, _ = io.WriteString(p.err, ordering.Remarks(p.plan.Skipped, nil))
	p.notes(p.plan.Notes)
}

// setPlan sets the plan that events are about from now on.
func (p *printer) setPlan(plan *ordering.Plan) {
	if p.plan = plan; !p.everyLine {
		p.sharing = newSharing(plan)
	}
}

// planSize returns "3 resources in 2 waves".
func planSize(plan *ordering.Plan) string {
	return plain.Count(len(plan.Steps), "resource") + " in " + plain.Count(len(plan.Waves), "wave")
}

func (p *printer) notes(notes []string) {
	for _, note := range notes {
		plain.Fprintf(p.err, "note: %s\n", note)
	}
}

// Event implements Reporter.
func (p *printer) Event(t track.Transition) {
	if t.Kind == track.WaveOpened || t.Kind == track.WaveEnded || t.Hook != nil {
		p.unfold()
	}
	switch t.Kind {
	case track.WaveOpened:
		if p.opened = p.waveLine(t); p.everyLine {
			p.openWave()
		}
	case track.WaveEnded:
		if p.opened == "" {
			plain.Fprintln(p.err, p.waveLine(t))
		}
		p.opened = ""
	case track.HooksBegan:
		plain.Fprintf(p.err, "%s: %s\n", t.Hook.Event, plain.Count(t.Hook.Count, "hook"))
	case track.HookLogged:
		p.log(t.Event)
	default:
		if t.Hook != nil {
			p.line(hookName(t.Event), p.hookText(t))
			return
		}
		if p.folds(t) {
			p.folded++
		} else {
			p.news(t, p.text(t))
		}
		p.result(t)
	}
}

// news prints these words about a resource, or holds them back to print them for several.
func (p *printer) news(t track.Transition, words string) {
	if changesOrWaits(t, words) {
		p.openWave()
	}
	p.sharing.release(t, p.shared)
	if !p.sharing.hold(t, words) {
		p.line(p.padded(t.ID), words)
	}
}

// changesOrWaits reports whether an event of a resource, with the words about it, belongs to a
// change or a wait.
func changesOrWaits(t track.Transition, words string) bool {
	return words != "" || t.Kind == track.Applied && !t.Unchanged || t.State == event.Deleting
}

// isNews reports whether an event of a resource says more than that it is unchanged.
func (p *printer) isNews(t track.Transition) bool {
	return t.ID != (object.ID{}) && t.Hook == nil && !p.folds(t) && changesOrWaits(t, p.text(t))
}

// openWave prints the line of the open wave, once. A wave in which nothing changes has none.
func (p *printer) openWave() {
	if p.opened != "" {
		plain.Fprintln(p.err, p.opened)
		p.opened = ""
	}
}

// shared prints the line of a group.
func (p *printer) shared(g *group) {
	if len(g.held) == 1 {
		p.line(p.padded(g.slowest.ID), g.words)
		return
	}
	words := g.words
	if g.slowest.Kind == track.Ended && (g.slowest.State.Succeeded() || g.slowest.State == event.Deleted) && !g.slowest.Unchanged && !p.dryRun {
		words += ", the slowest: " + g.slowest.ID.Name
	}
	p.line(fmt.Sprintf("%-*s", p.width, fmt.Sprintf("%s (%d more)", g.slowest.ID.KindName(), len(g.held))), words)
}

// folds reports whether the end of a resource needs no line of its own: it was unchanged,
// and there is nothing to say about it that the summary does not.
func (p *printer) folds(t track.Transition) bool {
	return t.Kind == track.Ended && t.Unchanged && (t.State == event.Ready || p.dryRun && t.State == event.Applied) && (t.Detail == "" || t.Assumed && t.Health == health.GradeHealthy) && !p.everyLine
}

// unfold prints the held lines: how many resources did the same as another, and how many
// were unchanged.
func (p *printer) unfold() {
	p.sharing.end(p.shared)
	if p.folded > 0 && p.opened == "" {
		plain.Fprintf(p.err, "  %d unchanged\n", p.folded)
	}
	p.folded = 0
}

// padded returns a resource's name, followed by spaces up to the next column.
func (p *printer) padded(id object.ID) string { return fmt.Sprintf("%-*s", p.width, id) }

// line prints an event of a resource or a hook, if there are words for it.
func (p *printer) line(name, words string) {
	if words != "" {
		p.openWave()
		plain.Fprintf(p.err, "  %s  %s\n", name, words)
	}
}

// hookText returns the text for an event of a hook. Hooks have no wave and no result line.
func (p *printer) hookText(t track.Transition) string {
	switch t.State {
	case event.Deleting:
		return t.Detail
	case event.Applied:
		return "applied"
	case event.Ready:
		return "done (" + took(t) + ")"
	}
	return p.text(t)
}

// took returns the time of a resource or a hook since its first request.
func took(t track.Transition) string { return t.Took().Round(10 * time.Millisecond).String() }

// log prints the output of a hook's container.
func (p *printer) log(e event.Event) {
	log := e.Hook.Log
	if log.Err != nil {
		p.notes([]string{hookName(e) + ": " + log.Err.Error()})
		return
	}
	part := ""
	if len(log.Lines) >= diagnose.PodLogLines {
		part = fmt.Sprintf("the last %d lines of ", diagnose.PodLogLines)
	}
	plain.Fprintf(p.err, "  %s  %sthe log of container %s of %s\n", hookName(e), part, log.Container, log.Pod)
	for _, line := range log.Lines {
		plain.Fprintf(p.err, "    | %s\n", line)
	}
}

// Extend prints the waves that a prune adds to the run.
func (p *printer) Extend(more track.Extension) {
	p.unfold()
	if p.setPlan(more.Plan); more.Resources > 0 {
		plain.Fprintf(p.err, "pruning %s that the stream no longer contains\n", plain.Count(more.Resources, "resource"))
	}
	p.notes(more.Notes)
}

// RollBack prints that the run failed, and the next plan.
func (p *printer) RollBack(revision int, run *track.Tracker) {
	p.unfold()
	p.setPlan(run.Plan)
	switch n := len(p.plan.Steps); {
	case revision == 0:
		plain.Fprintf(p.err, "the run failed, and no revision was deployed before: deleting %s that it created\n", plain.Count(n, "resource"))
	case n == 0:
		plain.Fprintf(p.err, "the run failed; rolling back to revision %d\n", revision)
	default:
		plain.Fprintf(p.err, "the run failed; rolling back to revision %d: applying %s\n", revision, planSize(p.plan))
	}
	p.notes(p.plan.Notes)
}

// waveLine returns the line of a wave that began or ended.
func (p *printer) waveLine(t track.Transition) string {
	text := t.Detail
	if t.Kind == track.WaveEnded {
		text = cmp.Or(p.words()[t.State], t.State.Words()) + " in " + t.Detail
	}
	return p.plan.WaveTitle(t.Wave) + ": " + text
}

// words are the words for states that differ from their names. A dry run writes nothing.
func (p *printer) words() map[event.State]string {
	if p.dryRun {
		return map[event.State]string{event.Applied: "would be applied", event.Deleted: "would be deleted"}
	}
	return nil
}

// text returns the text for an event of a resource, or "" if it has none.
func (p *printer) text(t track.Transition) string {
	switch t.State {
	case event.Pending, event.NotStarted:
		return ""
	case event.Applying, event.Waiting:
		if t.Kind != track.Progressed {
			return ""
		}
		return "waiting: " + t.Detail
	case event.Ready:
		how := "unchanged"
		if !t.Unchanged {
			how = took(t)
		}
		if t.Detail != "" {
			how += "; " + t.Detail
		}
		return "ready (" + how + ")"
	case event.Applied:
		if p.dryRun {
			return cmp.Or(t.Detail, "valid") + " (server dry run)"
		}
		return cmp.Or(t.Detail, "applied, not waited for")
	case event.Deleted:
		if p.dryRun {
			return p.words()[t.State] + " (server dry run)"
		}
	}
	if t.Detail == "" {
		return t.State.Words()
	}
	if t.State == event.Failed || t.State == event.TimedOut {
		return fmt.Sprintf("%s: %s", t.State.Words(), firstClause(t.Detail)) // End prints the whole
	}
	return fmt.Sprintf("%s: %s", t.State.Words(), t.Detail)
}

// firstClause returns an error without its details.
func firstClause(text string) string {
	for _, mark := range []string{": ", "; "} {
		if at := strings.Index(text, mark); at >= minClause {
			text = text[:at]
		}
	}
	return text
}

// minClause is the least length of a meaningful clause.
const minClause = 12

// result prints an applied or pruned resource on standard output, as kubectl does.
func (p *printer) result(t track.Transition) {
	how := "serverside-applied"
	switch {
	case t.Hook != nil:
		return
	case t.Kind == track.Ended && t.State == event.Deleted:
		how = "pruned"
	case t.Kind != track.Applied:
		return
	case t.Unchanged:
		how = "unchanged"
	}
	p.printResult(t.ID, how)
}

// printResult prints the result of a resource as -o selects.
func (p *printer) printResult(id object.ID, how string) {
	if p.dryRun {
		how += " (server dry run)"
	}
	switch p.results {
	case kubectlLines:
		plain.Fprintln(p.out, ResourceName(id)+" "+how)
	case namesOnly:
		plain.Fprintln(p.out, ResourceName(id))
	}
}

// ResourceName returns a name as kubectl prints and accepts it:
// "deployment.apps/web".
func ResourceName(id object.ID) string {
	return plain.Line(strings.ToLower(id.GroupKind()) + "/" + id.Name)
}

// End prints the API server's warnings, and one line each about a trace that is
// incomplete, the run, its rollback and its page. If that is all that the run prints, the line
// about the run replaces its first line.
func (p *printer) End(o events.Outcome) {
	where, notes := "", o.Summary.OwnerNotes()
	if len(notes) == 0 && p.changesNothing(o) && p.first.Drop() {
		where, p.folded = " on "+p.at, 0
	}
	p.unfold()
	for _, text := range o.Warnings {
		plain.Fprintf(p.err, "warning from the server: %s\n", text)
	}
	if o.Untraced != nil {
		plain.Message(p.err, "warning: ", "the trace is incomplete: "+o.Untraced.Error())
	}
	p.notes(notes)
	if words := p.summarize(o.Summary, where); words != "" { // otherwise the run did not start; the error says why
		p.total(words, o.State == "done")
	}
	if back := o.Rollback; back != nil {
		if words := p.summarize(back.Summary, ""); words != "" {
			p.total(describeRollback(back.Revision)+": "+words, back.State == "done")
		}
	}
	if o.Page != "" {
		plain.Fprintf(p.err, "the page of this run: %s\n", o.Page)
	}
}

// changesNothing reports whether a run whose first line may be held back changed nothing, without
// a warning.
func (p *printer) changesNothing(o events.Outcome) bool {
	return p.first != nil && o.State == "done" && len(o.Warnings) == 0 && o.Untraced == nil &&
		len(o.Summary.Results) > 0 && o.Summary.Unchanged() == len(o.Summary.Results)
}

// total prints the line about a whole run, in the colour of its outcome.
func (p *printer) total(words string, good bool) {
	line := terminal.Line{Text: plain.Line(words), Mood: terminal.Bad}
	if good {
		line.Mood = terminal.Good
	}
	if p.shade != nil {
		line.Text = p.shade(line)
	}
	_, _ = io.WriteString(p.err, line.Text+"\n")
}

// describeRollback names the step after a failure: a rollback or, if no revision was
// deployed before, a deletion of the new objects.
func describeRollback(revision int) string {
	if revision == 0 {
		return "deleting what the run created"
	}
	return fmt.Sprintf("rollback to revision %d", revision)
}

// summarize returns the number of resources by final state, where they are ("" or " on " and the
// cluster), and the duration.
func (p *printer) summarize(s event.Summary, where string) string {
	byState := s.Counts()
	byState[event.Deleted] -= s.Absent()
	counts := byState.Text(p.words())
	switch {
	case counts == "" && s.Absent() > 0:
		counts = "nothing deleted"
	case counts == "":
		return ""
	}
	took := s.Took.Round(10 * time.Millisecond).String()
	if n := s.Unchanged(); n > 0 {
		took += fmt.Sprintf("; %d unchanged", n)
	}
	if n := s.Absent(); n > 0 {
		took += fmt.Sprintf("; %d did not exist", n)
	}
	if n := s.Assumed(); n > 0 {
		took += fmt.Sprintf("; %d only assumed ready", n)
	}
	if n := len(s.Hooks); n > 0 {
		took += "; " + plain.Count(n, "hook") + " ran"
	}
	return counts + where + ", in " + took
}

// hookName returns the display name of a hook: "pre-install hook Job
// shop/migrate".
func hookName(e event.Event) string { return e.Hook.Event + " hook " + e.ID.String() }
