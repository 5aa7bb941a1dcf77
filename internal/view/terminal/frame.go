package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
)

// rowDelay is how long a resource may take before it gets its own line, unless
// it has a detail.
const rowDelay = time.Second

// row is a resource with its own line.
type row struct {
	*track.Resource
	index  int // in the tracker's Resources
	blocks int // number of resources that wait for it
}

// Frame returns the lines to show now, fewer than rows: the progress of the
// run, the most important resources (failed ones, then the ones with the most dependents,
// then the slowest), the others as counts, and the next waves.
func (v *View) Frame(columns, rows int, now time.Time) []Line {
	lines := []Line{{Text: v.header(columns, now)}}
	if v.run.Hook != nil { // hooks run while nothing of the plan does
		if lines = append(lines, v.hookLine(columns, now)); v.interrupted || !v.run.IsOver() {
			lines = append(lines, v.footer(columns)...)
		}
		return lines[:min(len(lines), max(0, rows-1))]
	}
	shown := v.visibleRows(now)
	folded := len(shown)
	footer := append(v.footer(columns), v.estimate(columns, now)...)
	if room := min(mostRows, rows-3-len(footer)); len(shown) > room {
		shown = shown[:max(0, room)]
	}
	folded -= len(shown)
	explain, spare := 2*len(shown) <= rows-3-len(footer), rows-3-len(footer)-len(shown)
	if explain {
		spare -= len(shown)
	}
	table := v.layout(shown, columns, now)
	indent := "      "
	if table.narrow {
		indent = "    "
	}
	for _, row := range shown {
		wrapped := v.lines(row, table, columns, min(spare, mostLines-1)+1, now)
		spare -= len(wrapped) - 1
		lines = append(lines, wrapped...)
		if words := v.blocks(row.index, columns-1-len(indent)); explain && words != "" {
			lines = append(lines, Line{Text: indent + words, Mood: Faint})
		}
	}
	if rest := v.rest(shown, folded, columns-3); rest != "" {
		lines = append(lines, Line{Text: "  " + rest, Mood: Faint})
	}
	lines = append(lines, footer...)
	return lines[:min(len(lines), max(0, rows-1))]
}

// visibleRows returns the resources that deserve a line, most important first. If
// many have no response yet, most of them have not been sent: they get none.
func (v *View) visibleRows(now time.Time) []row {
	var rows []row
	silent := 0
	for i := range v.run.Resources {
		if r := &v.run.Resources[i]; r.State == event.Applying && r.Last == track.Sent {
			silent++
		}
	}
	for i := range v.run.Resources {
		r := &v.run.Resources[i]
		switch r.State {
		case event.Failed, event.TimedOut:
			rows = append(rows, row{Resource: r, index: i})
		case event.Applying, event.Waiting, event.Deleting:
			if r.Last == track.Progressed || r.Took(now) >= rowDelay && (r.State == event.Waiting || silent <= mostRows) {
				rows = append(rows, row{r, i, len(v.blocked(i))})
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		switch {
		case a.State.Final() && !b.State.Final():
			return -1
		case b.State.Final() && !a.State.Final():
			return 1
		}
		return cmp.Or(cmp.Compare(b.blocks, a.blocks), a.Sent.Compare(b.Sent), cmp.Compare(a.index, b.index))
	})
	return rows
}

// table is the layout of a frame's rows.
type table struct {
	narrow       bool
	names, clock int  // widths of columns
	words        bool // there is room for details
}

// leastWords is the minimum width at which a detail is shown.
const leastWords = 10

// layout chooses the width of names so that details fit; in a narrow frame so
// that their start fits, or gives names the whole width if both would be too
// short.
func (v *View) layout(rows []row, columns int, now time.Time) table {
	t := table{narrow: columns < narrowWidth, clock: 6, names: columns * 11 / 20, words: true}
	if t.narrow {
		t.clock = 0
		for _, row := range rows {
			t.clock = max(t.clock, len(clock(row.Took(now))))
		}
		t.names = max(0, columns-1-len("!   ")-t.clock)
		if t.words = t.names >= leastLabel+2+leastWords; t.words {
			t.names -= 2 + leastWords
		}
	}
	longest := 0
	for _, row := range rows {
		longest = max(longest, Width(label(row.ID, t.names)))
	}
	t.names = longest
	return t
}

// mostLines is the maximum number of lines of a row.
const mostLines = 4

// lines formats a row of the table, with its words in at most some lines. In a narrow table a
// failed resource is marked, since the word may be cut.
func (v *View) lines(r row, t table, columns, most int, now time.Time) []Line {
	mood, words, mark := Busy, waitsFor(r.Resource), " "
	if r.State.Final() {
		mood, words = Bad, describe(r.Resource)
		if t.narrow {
			mark = "!"
		}
	}
	name := label(r.ID, t.names)
	text := fmt.Sprintf("%s %s%s  %*s", mark, name, strings.Repeat(" ", t.names-Width(name)), t.clock, clock(r.Took(now)))
	if !t.words {
		return []Line{{Text: text, Mood: mood}}
	}
	var lines []Line
	for _, line := range wrapped(text+"  ", words, columns-1, max(1, most)) {
		lines = append(lines, Line{Text: line, Mood: mood})
	}
	return lines
}

// wrapped returns a text and the words after it in at most some lines of a width. Lines after
// the first one begin below the words, or further left where that leaves too little room. What
// does not fit is cut from the last line.
func wrapped(text, words string, columns, most int) []string {
	indent := Width(text)
	if columns-indent < leastWrapped {
		indent = 4
	}
	lines := Wrap(strings.Fields(words), columns, text, strings.Repeat(" ", indent))
	if len(lines) > most {
		rest := strings.TrimSpace(strings.Join(lines[most-1:], " "))
		if most > 1 {
			rest = strings.Repeat(" ", indent) + rest
		} else {
			rest = text + words
		}
		lines = append(lines[:most-1], rest)
	}
	return lines
}

// leastWrapped is the minimum width of a column in which words are wrapped.
const leastWrapped = 24

// hookLine returns the line of the hook that is running.
func (v *View) hookLine(columns int, now time.Time) Line {
	h := v.run.Hook
	head, took := "  "+h.Event+" hook ", "  "+clock(h.Took(now))
	text := head + label(h.ID, max(0, columns-1-Width(head+took))) + took
	if Width(text)+2+leastWords < columns {
		text += "  " + waitsFor(&h.Resource)
	}
	return Line{Text: text, Mood: Busy}
}

// rest counts, within a number of columns, the current resources without a
// line; folded of them would deserve one.
func (v *View) rest(shown []row, folded, columns int) string {
	counts := map[string]int{}
	for i := range v.run.Resources {
		if v.current(i) {
			counts[group(v.run.Resources[i].State)]++
		}
	}
	for _, row := range shown {
		counts[group(row.State)]--
	}
	var parts []string
	left := 0
	for _, name := range []string{"failed", "waiting", "being applied", "being deleted", "not sent yet", "skipped"} {
		if n := counts[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
			left += n
		}
	}
	if len(parts) == 0 {
		return ""
	}
	words, sum := strings.Join(parts, ", "), fmt.Sprintf("%d more", left)
	if folded > 0 || len(shown) > 0 {
		return fitting(columns, "more: "+words, sum)
	}
	return fitting(columns, words, sum)
}

// current reports whether a resource belongs to the current wave or has
// started.
func (v *View) current(i int) bool {
	if v.options.Graph || v.run.Resources[i].State != event.Pending {
		return true
	}
	return v.run.Plan.Steps[i].Wave == v.run.Open
}

func group(s event.State) string {
	switch s {
	case event.Failed, event.TimedOut:
		return "failed"
	case event.Waiting:
		return "waiting"
	case event.Applying:
		return "being applied"
	case event.Deleting:
		return "being deleted"
	case event.Pending:
		return "not sent yet"
	case event.Skipped:
		return "skipped"
	}
	return "" // not counted: ready, or never started
}
