package report

import (
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// deletionPrinter prints a deletion as printer prints an apply.
type deletionPrinter struct{ *printer }

// Begin implements Reporter.
func (p *deletionPrinter) Begin(run *track.Tracker) {
	doing := "deleting"
	if p.dryRun {
		doing = "checking the deletion of"
	}
	p.begin(doing, "from", "", run)
}

// Event implements Reporter.
func (p *deletionPrinter) Event(t track.Transition) {
	if t.ID == (object.ID{}) || t.Hook != nil {
		p.printer.Event(t)
		return
	}
	p.news(t, p.text(t))
	p.result(t)
}

// text returns the text for an event, or "" if it has none.
func (p *deletionPrinter) text(t track.Transition) string {
	switch {
	case t.State == event.Deleting, t.State == event.Deleted && t.Unchanged:
		return t.Detail
	case t.State == event.Deleted && !p.dryRun && t.Detail == "":
		return "deleted (" + took(t) + ")"
	}
	return p.printer.text(t)
}

// result prints the final state of an object on standard output, as kubectl
// does.
func (p *deletionPrinter) result(t track.Transition) {
	if t.Kind != track.Ended || t.Hook != nil {
		return
	}
	switch {
	case t.State == event.Deleted && !t.Unchanged:
		p.printResult(t.ID, "deleted")
	case p.results != kubectlLines: // only deleted objects
	case t.State == event.Deleted:
		plain.Fprintln(p.out, ResourceName(t.ID)+" not found")
	case t.State == event.Kept:
		plain.Fprintln(p.out, ResourceName(t.ID)+" kept")
	}
}
