package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/diff"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Limits for one change in a plan: characters of a line, lines of a text.
// `ordapply diff` shows everything.
const (
	changeWidth = 200
	changeLines = 12
)

// WriteText prints, wave by wave, the resources that would change: each with its action, the
// reason for its wave and the changed fields. An unchanged one is listed if there is something
// to say about it, and otherwise counted.
func (p *Previewed) WriteText(w io.Writer, how Style) error {
	var b strings.Builder
	rows := p.listed(how.All)
	width := how.nameWidth(longestName(rows))
	p.Plan.WriteHooks(&b, ordering.PlannedHook.Before)
	for wave := range p.Plan.Waves {
		p.writeWave(&b, how, wave, width, rows)
	}
	p.writeWave(&b, how, afterWaves, width, rows)
	p.Plan.WriteHooks(&b, ordering.PlannedHook.After)
	b.WriteString(ordering.Remarks(p.Plan.Skipped, p.Plan.Notes))
	plain.Fprintln(&b, p.totals())
	_, err := io.WriteString(w, b.String())
	return err
}

// afterWaves is the wave of the rows of pruned objects.
const afterWaves = -1

// listed returns the rows to print, in an order in which each follows what it needs.
func (p *Previewed) listed(all bool) []preview.Row {
	place := map[object.ID]int{}
	for at, step := range p.Plan.Sequence() {
		place[p.Plan.Steps[step].ID] = at
	}
	rows := slices.DeleteFunc(slices.Clone(p.Preview.Rows), func(row preview.Row) bool {
		return !all && row.Action == preview.ActionUnchanged && row.Detail == ""
	})
	slices.SortStableFunc(rows, func(a, b preview.Row) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return rows
}

// writeWave prints the rows and hooks of a wave; nothing if it has none.
func (p *Previewed) writeWave(b *strings.Builder, how Style, wave, width int, rows []preview.Row) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row preview.Row) bool { return row.Wave != wave })
	inWave := func(h ordering.PlannedHook) bool { return h.In(wave) }
	if len(rows) == 0 && !slices.ContainsFunc(p.Plan.Hooks, inWave) {
		return
	}
	plain.Fprintln(b, p.waveTitle(wave))
	for i, row := range rows {
		b.WriteString(how.row(fmt.Sprintf("  %-9s  ", row.Action), actionMood(row.Action), width, row.ID.String(), row.Why))
		for _, line := range foldedDetails(rows, i) {
			b.WriteString(detailIndent + how.in(line.mood, plain.Clip(plain.Line(line.text), changeWidth)) + "\n")
		}
	}
	p.Plan.WriteHooks(b, inWave)
}

// foldedDetails returns the details of row i; for the last of several that are deferred for
// the same reason those of all, and none for the others.
func foldedDetails(rows []preview.Row, i int) []detail {
	lines := details(rows[i])
	switch n := deferredAlike(rows, i); {
	case n == 0:
		return nil
	case n > 1:
		lines[0].text = fmt.Sprintf("each of these %d: %s", n, lines[0].text)
	}
	return lines
}

// WriteWaves prints a plan that was made without a cluster, as ordering.Plan.WriteText does, in a
// style.
func WriteWaves(w io.Writer, planned *ordering.Plan, how Style) error {
	width := 0
	for _, step := range planned.Steps {
		width = max(width, len(step.ID.String()))
	}
	width = how.nameWidth(width)
	return planned.WriteRows(w, func(step ordering.Step) string {
		return how.row("  ", terminal.Neutral, width, step.ID.String(), step.Why)
	})
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

// detail is a line below a resource.
type detail struct {
	text string
	mood terminal.Mood
}

// details returns the detail, error and changes of a row as lines.
func details(row preview.Row) []detail {
	var lines []detail
	add := func(mood terminal.Mood, texts ...string) {
		for _, text := range texts {
			lines = append(lines, detail{text, mood})
		}
	}
	if row.Detail != "" {
		add(terminal.Neutral, row.Detail)
	}
	if row.Err != nil {
		add(terminal.Neutral, marked(cause(row.Err))...)
	}
	for _, change := range changes(row) {
		add(changeMood(change.Kind), change.Lines(changeLines)...)
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

func longestName(rows []preview.Row) int {
	width := 0
	for _, row := range rows {
		width = max(width, len(row.ID.String()))
	}
	return width
}
