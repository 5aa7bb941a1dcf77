package main

import (
	"fmt"
	"io"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// deletionPrinter prints a deletion as printer prints an apply.
type deletionPrinter struct{ *printer }

func (p *deletionPrinter) begin() {
	doing := "deleting"
	if p.dryRun {
		doing = "checking the deletion of"
	}
	plain.Fprintf(p.err, "%s %s in %s from %s%s\n", doing, plain.Count(len(p.plan.Steps), "resource"), plain.Count(len(p.plan.Waves), "wave"), p.target.server, p.target.of())
	p.notes(p.plan.Notes)
}

func (p *deletionPrinter) event(e apply.Event) {
	if e.Hook != "" {
		p.hook(e)
		return
	}
	if e.ID == (object.ID{}) {
		plain.Fprintf(p.err, "%s: %s\n", p.plan.WaveTitle(e.Wave), p.waveWords(e))
		return
	}
	if _, begun := p.started[e.ID]; !begun {
		p.started[e.ID] = e.Time
	}
	if words := p.words(e); words != "" {
		plain.Fprintf(p.err, "  %-*s  %s\n", p.width, e.ID.String(), words)
	}
	p.result(e)
}

// words returns the text for an event, or "" if it has none.
func (p *deletionPrinter) words(e apply.Event) string {
	switch {
	case e.State == apply.Deleting:
		return e.Detail
	case e.State == apply.Deleted && e.Unchanged:
		return e.Detail
	case e.State == apply.Deleted && !p.dryRun && e.Detail == "":
		return fmt.Sprintf("deleted (%s)", e.Time.Sub(p.started[e.ID]).Round(10*time.Millisecond))
	}
	return p.printer.words(e)
}

// result prints the final state of an object on standard output, as kubectl
// does.
func (p *deletionPrinter) result(e apply.Event) {
	if e.ID == (object.ID{}) || e.Hook != "" {
		return
	}
	deleted := e.State == apply.Deleted && !e.Unchanged
	if p.results == namesOnly && deleted {
		plain.Fprintln(p.out, resourceName(e.ID))
	}
	if p.results != kubectlLines {
		return
	}
	end := ""
	switch {
	case deleted && p.dryRun:
		end = "deleted (server dry run)"
	case deleted:
		end = "deleted"
	case e.State == apply.Deleted:
		end = "not found"
	case e.State == apply.Kept:
		end = "kept"
	default:
		return
	}
	plain.Fprintln(p.out, resourceName(e.ID)+" "+end)
}

// show prints the order of a deletion.
func (f *deleteFlags) show(w io.Writer, d deletion) error {
	plan := d.order.Plan()
	switch f.output {
	case "json":
		return plan.WriteJSON(w)
	case "name":
		for _, s := range plan.Steps {
			if d.live[s.ID] != nil {
				plain.Fprintln(w, resourceName(s.ID))
			}
		}
		return nil
	}
	for i, s := range plan.Steps {
		if d.live[s.ID] == nil {
			plan.Steps[i].Why.Rule, plan.Steps[i].Why.Detail = "does not exist", ""
		}
	}
	return plan.WriteText(w)
}
