package ordering

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ordapply/ordapply/internal/plain"
)

// WriteText prints each wave with its resources and the reason for each that tells more than
// the wave does, and the hooks before, in and after the waves, then skipped resources and notes.
// The error is w's.
func (p *Plan) WriteText(w io.Writer) error {
	width := p.idWidth()
	return p.WriteRows(w, func(s Step) string {
		row := plain.Sprintf("  %-*s", width, s.ID)
		if s.Why.Says() {
			row += plain.Sprintf("  %s", s.Why)
		}
		return strings.TrimRight(row, " ") + "\n"
	})
}

// WriteRows is like WriteText, with other rows: row returns the lines of a resource. Within a wave,
// each follows what it needs.
func (p *Plan) WriteRows(w io.Writer, row func(Step) string) error {
	var b strings.Builder
	p.WriteHooks(&b, PlannedHook.Before)
	rest := p.Sequence()
	slices.SortStableFunc(rest, func(i, j int) int { return cmp.Compare(p.Steps[i].Wave, p.Steps[j].Wave) })
	for n := range p.Waves {
		plain.Fprintln(&b, p.WaveTitle(n))
		for ; len(rest) > 0 && p.Steps[rest[0]].Wave == n; rest = rest[1:] {
			b.WriteString(row(p.Steps[rest[0]]))
		}
		p.WriteHooks(&b, func(h PlannedHook) bool { return h.In(n) })
	}
	p.WriteHooks(&b, PlannedHook.After)
	b.WriteString(Remarks(p.Skipped, p.Notes))
	_, err := io.WriteString(w, b.String())
	return err
}

// Remarks returns the lines about resources that are left out of a plan, and about its notes.
func Remarks(skipped []Skipped, notes []string) string {
	var b strings.Builder
	for _, s := range skipped {
		plain.Fprintf(&b, "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	for _, note := range notes {
		plain.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// WriteHooks prints selected hooks in order: "pre-install hook Job shop/migrate, weight -5",
// "Sync hook Job shop/check, wave 1, with wave 2/3".
func (p *Plan) WriteHooks(w io.Writer, selected func(PlannedHook) bool) {
	for _, hook := range p.Hooks {
		if selected(hook) {
			plain.Fprintf(w, "%s hook %s, %s\n", hook.Event, hook.ID, p.HookPlace(hook))
		}
	}
}

// HookPlace describes the place of a hook in its event, and in the plan.
func (p *Plan) HookPlace(hook PlannedHook) string {
	place := fmt.Sprintf("weight %d", hook.Weight)
	if p.OrderSource == OrderSourceArgoCD {
		place = fmt.Sprintf("wave %d", hook.Weight)
	}
	if hook.Within {
		place += fmt.Sprintf(", with wave %d/%d", hook.Wave+1, len(p.Waves))
	}
	return place
}

// WaveTitle returns the display name of a wave, given its index: "wave 2/5 (data)"
// for 1. Long lists of names are cut.
func (p *Plan) WaveTitle(wave int) string {
	title := fmt.Sprintf("wave %d/%d", wave+1, len(p.Waves))
	if name := p.Waves[wave].Name; name != "" {
		title += " (" + firstNames(name) + ")"
	}
	return title
}

// widestNames is the maximum width of the names in a title, in columns: with the rest
// of a progress line, that makes about 100.
const widestNames = 70

// firstNames returns as many of the names of a wave as fit, and at least one.
func firstNames(names string) string {
	const others = " and others"
	if utf8.RuneCountInString(names) <= widestNames {
		return names
	}
	kept, rest, _ := strings.Cut(names, ", ")
	for rest != "" {
		name, after, _ := strings.Cut(rest, ", ")
		if utf8.RuneCountInString(kept+", "+name+others) > widestNames {
			return kept + others
		}
		kept, rest = kept+", "+name, after
	}
	return names
}

// idWidth returns the width of the ID column: the longest ID's, at most 60.
func (p *Plan) idWidth() int {
	width := 0
	for _, s := range p.Steps {
		width = max(width, len(s.ID.String()))
	}
	return min(width, 60)
}
