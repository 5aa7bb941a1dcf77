package plan

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/diff"
)

// Limits for one change in a plan: characters of a line, lines of a text.
// `ordapply diff` shows everything.
const (
	changeWidth = 200
	changeLines = 12
)

// WriteText prints, wave by wave, each resource with its action, the reason for
// its wave and the changed fields.
func (p *Previewed) WriteText(w io.Writer) error {
	var b strings.Builder
	width := p.idWidth()
	wave := -2
	for i, row := range p.Preview.Rows {
		if row.Wave != wave {
			wave = row.Wave
			plain.Fprintln(&b, p.waveTitle(wave))
		}
		plain.Fprintf(&b, "  %-9s  %-*s  %s\n", row.Action, width, row.ID, row.Why)
		lines := details(row)
		switch n := deferredAlike(p.Preview.Rows, i); {
		case n == 0:
			lines = nil
		case n > 1:
			lines[0] = fmt.Sprintf("each of these %d: %s", n, lines[0])
		}
		for _, line := range lines {
			plain.Fprintf(&b, "             %s\n", plain.Clip(line, changeWidth))
		}
	}
	p.Plan.WriteHooks(&b)
	for _, s := range p.Plan.Skipped {
		plain.Fprintf(&b, "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	for _, note := range p.Plan.Notes {
		plain.Fprintf(&b, "note: %s\n", note)
	}
	plain.Fprintln(&b, p.totals())
	_, err := io.WriteString(w, b.String())
	return err
}

// deferredAlike returns how many successive rows up to row i are deferred for the same
// reason; 0 if the next row is one more, and 1 if row i is like no other.
func deferredAlike(rows []preview.Row, i int) int {
	alike := func(i int) bool { // row i and the next
		if i < 0 || i+1 >= len(rows) {
			return false
		}
		a, b := rows[i], rows[i+1]
		return a.Action == preview.ActionDeferred && b.Action == a.Action && b.Wave == a.Wave && b.Detail == a.Detail
	}
	if alike(i) {
		return 0
	}
	n := 1
	for alike(i - n) {
		n++
	}
	return n
}

func (p *Previewed) waveTitle(wave int) string {
	if wave < 0 {
		return "after the last wave"
	}
	return p.Plan.WaveTitle(wave)
}

// details returns the detail, error and changes of a row as lines.
func details(row preview.Row) []string {
	var lines []string
	if row.Detail != "" {
		lines = append(lines, row.Detail)
	}
	var failure *event.Error
	if errors.As(row.Err, &failure) {
		lines = append(lines, marked(failure.Err)...)
	}
	for _, change := range changes(row) {
		lines = append(lines, change.Lines(changeLines)...)
	}
	return lines
}

// marked returns the lines of an error, indented so that none looks like a
// change.
func marked(err error) []string {
	var b strings.Builder
	plain.Message(&b, "", err.Error())
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// changes returns the fields of a live object that would change.
func changes(row preview.Row) []diff.Change {
	if row.Live == nil || row.Merged == nil {
		return nil
	}
	return diff.Between(row.Live.Object, row.Merged.Object)
}

// totals returns the number of rows by action: "2 create, 1 update, 3
// unchanged".
func (p *Previewed) totals() string {
	var parts []string
	for _, action := range preview.Actions() {
		if n := p.Preview.Count(action); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	return strings.Join(parts, ", ")
}

// Warn prints the warning of a lost order, and those of the API server.
func (p *Previewed) Warn(w io.Writer) {
	if p.LostOrder != nil {
		plain.Message(w, "warning: ", p.LostOrder.Error())
	}
	for _, text := range p.Target.Warnings.List() {
		plain.Fprintf(w, "warning from the server: %s\n", text)
	}
}

func (p *Previewed) idWidth() int {
	width := 0
	for _, row := range p.Preview.Rows {
		width = max(width, len(row.ID.String()))
	}
	return min(width, 60)
}
