package drawing

import (
	"io"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Explain writes everything the plan knows about one resource: its wave, the reason, its
// needs, its dependents, and the inferred edges that were dropped; of a skipped resource or
// a hook, why it is not in a wave. ok is false if the plan knows none of this ID. The error
// is that of w.
func Explain(w io.Writer, p *ordering.Plan, id object.ID) (ok bool, err error) {
	var b strings.Builder
	index := p.Positions()
	at, ok := index[id]
	if !ok {
		return explainSkipped(w, p, id)
	}
	s := p.Steps[at]
	plain.Fprintf(&b, "%s\n", s.ID)
	line := func(label, text string) {
		if text != "" {
			plain.Fprintf(&b, "  %-9s %s\n", label, text)
		}
	}
	line("source", s.Source)
	line("wave", p.WaveTitle(s.Wave))
	line("layer", s.Layer)
	line("because", locatedFor(s, s.Why))
	line("gate", describeGate(p, s))
	if s.Timeout > 0 {
		line("timeout", s.Timeout.String())
	}
	explainNeeds(p, &b, s, index)
	explainDependents(p, &b, s)
	explainDropped(p, &b, s)
	_, err = io.WriteString(w, b.String())
	return true, err
}

func explainSkipped(w io.Writer, p *ordering.Plan, id object.ID) (bool, error) {
	for _, s := range p.Skipped {
		if s.ID == id {
			_, err := plain.Fprintf(w, "%s\n  left out  %s\n", id, s.Why.Located())
			return true, err
		}
	}
	for _, h := range p.Hooks {
		if h.ID == id {
			return true, explainHook(w, p, id)
		}
	}
	return false, nil
}

// explainHook lists the events at which a hook runs, and its position in each.
func explainHook(w io.Writer, p *ordering.Plan, id object.ID) error {
	var b strings.Builder
	plain.Fprintf(&b, "%s\n", id)
	place := map[string]int{}
	for _, h := range p.Hooks {
		place[h.Event]++
		if h.ID == id {
			plain.Fprintf(&b, "  hook      %s, number %d of its event, %s%s\n", h.Event, place[h.Event], p.HookPlace(h), hookSource(h.Source))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// hookSource returns the source of a manifest as the end of a line.
func hookSource(source string) string {
	if source == "" {
		return ""
	}
	return "; " + source
}

// describeGate describes the waits for the resource, and their end.
func describeGate(p *ordering.Plan, s ordering.Step) string {
	until := "it is ready"
	switch {
	case s.AfterHooks:
		until = "it is applied: hooks that run later make it ready, and then the run waits for it"
	case s.Gate == ordering.Applied:
		until = "it is applied"
	}
	var who []string
	if s.ReadyBy+1 < len(p.Waves) {
		who = append(who, p.WaveTitle(s.ReadyBy+1))
	}
	for _, l := range s.Layers {
		for n, later := range p.Layers {
			if slices.ContainsFunc(later.After, func(b ordering.Barrier) bool { return b.Layer == l }) && later.Kind != ordering.AllPlaced {
				who = append(who, string(later.Kind)+" "+p.Layers[n].Name)
			}
		}
	}
	if len(who) == 0 {
		return "the end of the run waits until " + until
	}
	return strings.Join(who, ", ") + " waits until " + until
}

func explainNeeds(p *ordering.Plan, b *strings.Builder, s ordering.Step, index map[object.ID]int) {
	if len(s.Needs)+len(s.After)+len(s.External) == 0 {
		b.WriteString("needs nothing\n")
		return
	}
	b.WriteString("needs\n")
	for _, n := range s.Needs {
		plain.Fprintf(b, "  %s, %s, of %s: %s%s\n", n.ID, n.Gate, p.WaveTitle(p.Steps[index[n.ID]].Wave), locatedFor(s, n.Why), declaredOrInferred(n))
	}
	for _, n := range s.External {
		plain.Fprintf(b, "  %s, %s, from outside the stream: %s\n", n.ID, n.Gate, locatedFor(s, n.Why))
	}
	for _, a := range s.After {
		plain.Fprintf(b, "  all of %s: %s\n", p.Layers[a.Layer].Name, locatedFor(s, a.Why))
	}
}

// locatedFor returns the reason, with its source unless that is the step's own manifest.
func locatedFor(s ordering.Step, why ordering.Reason) string {
	if why.Where == s.Source {
		return why.String()
	}
	return why.Located()
}

func declaredOrInferred(n ordering.Need) string {
	switch {
	case n.Hard:
		return " (declared)"
	case n.Yields:
		return " (inferred, yields when nothing moves)"
	}
	return " (inferred)"
}

func explainDependents(p *ordering.Plan, b *strings.Builder, s ordering.Step) {
	var lines []string
	for _, other := range p.Steps {
		for _, n := range other.Needs {
			if n.ID == s.ID {
				lines = append(lines, plain.Sprintf("  %s, %s: %s\n", other.ID, n.Gate, n.Why))
			}
		}
	}
	if len(lines) > 0 {
		b.WriteString("is needed by\n" + strings.Join(lines, ""))
	}
}

func explainDropped(p *ordering.Plan, b *strings.Builder, s ordering.Step) {
	var lines []string
	for _, d := range p.Dropped {
		if d.ID != s.ID && d.Need.ID != s.ID {
			continue
		}
		lines = append(lines, plain.Sprintf("  %s needs %s (%s), but\n", d.ID, d.Need.ID, d.Need.Why))
		for _, e := range d.Because {
			lines = append(lines, plain.Sprintf("    %s\n", e))
		}
	}
	if len(lines) > 0 {
		b.WriteString("dropped, because other edges contradict it\n" + strings.Join(lines, ""))
	}
}
