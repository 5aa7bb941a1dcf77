package ordering

import (
	"fmt"
	"io"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
)

// WriteText prints the plan for people: each wave, its resources, and because
// of what they are there.
func (p *Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	width := p.idWidth()
	for n := range p.Waves {
		plain.Fprintf(&b, "%s\n", p.WaveTitle(n))
		for _, s := range p.Steps {
			if s.Wave == n {
				plain.Fprintf(&b, "  %-*s  %s\n", width, s.ID, s.Why)
			}
		}
	}
	p.WriteHooks(&b)
	for _, s := range p.Skipped {
		plain.Fprintf(&b, "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	for _, note := range p.Notes {
		plain.Fprintf(&b, "note: %s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteHooks prints for people what runs around the plan, in that order: "pre-install
// hook Job shop/migrate, weight -5".
func (p *Plan) WriteHooks(w io.Writer) {
	for _, hook := range p.Hooks {
		plain.Fprintf(w, "%s hook %s, weight %d\n", hook.Event, hook.ID, hook.Weight)
	}
}

// WaveTitle names a wave as people read it: "wave 2/5 (data)". People count
// from 1.
func (p *Plan) WaveTitle(wave int) string {
	title := fmt.Sprintf("wave %d/%d", wave+1, len(p.Waves))
	if name := p.Waves[wave].Name; name != "" {
		title += " (" + name + ")"
	}
	return title
}

// idWidth is the width of the ID column: that of the longest ID, within reason.
func (p *Plan) idWidth() int {
	width := 0
	for _, s := range p.Steps {
		width = max(width, len(s.ID.String()))
	}
	return min(width, 60)
}
