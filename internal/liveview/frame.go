package liveview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/terminal"
)

// rowDelay is how long a resource may take before it gets its own line, unless
// it has a detail.
const rowDelay = time.Second

// mostRows is the maximum number of resources shown, whatever the height.
const mostRows = 16

// row is a resource with its own line.
type row struct {
	resource int
	blocks   int
}

// Frame returns the lines to show now, fewer than rows: the progress of the
// run, the most important resources (failed ones, then those that block most,
// then the slowest), the others as counts, and what comes next.
func (v *View) Frame(columns, rows int, now time.Time) []terminal.Line {
	lines := []terminal.Line{{Text: v.header(columns, now)}}
	if v.hook.event != "" { // nothing of the plan goes on meanwhile
		if lines = append(lines, v.hookLine(columns, now)); v.interrupted || !v.over() {
			lines = append(lines, v.footer(columns)...)
		}
		return lines[:min(len(lines), max(0, rows-1))]
	}
	shown := v.visibleRows(now)
	folded := len(shown)
	footer := v.footer(columns)
	if room := min(mostRows, rows-3-len(footer)); len(shown) > room {
		shown = shown[:max(0, room)]
	}
	folded -= len(shown)
	explain := 2*len(shown) <= rows-3-len(footer)
	table := v.layout(shown, columns, now)
	indent := "      "
	if table.narrow {
		indent = "    "
	}
	for _, row := range shown {
		lines = append(lines, v.line(row, table, now))
		if words := v.blocks(row.resource, columns-1-len(indent)); explain && words != "" {
			lines = append(lines, terminal.Line{Text: indent + words, Mood: terminal.Faint})
		}
	}
	if rest := v.rest(shown, folded, columns-3); rest != "" {
		lines = append(lines, terminal.Line{Text: "  " + rest, Mood: terminal.Faint})
	}
	lines = append(lines, footer...)
	return lines[:min(len(lines), max(0, rows-1))]
}

// visibleRows returns the resources that deserve a line, most important first. If
// many have no response yet, most of them have not been sent: they get none.
func (v *View) visibleRows(now time.Time) []row {
	var rows []row
	silent := 0
	for i := range v.resources {
		if r := &v.resources[i]; r.state == apply.Applying && r.detail == "" {
			silent++
		}
	}
	for i := range v.resources {
		r := &v.resources[i]
		switch r.state {
		case apply.Failed, apply.TimedOut:
			rows = append(rows, row{resource: i})
		case apply.Applying, apply.Waiting, apply.Deleting:
			if r.detail != "" || r.took(now) >= rowDelay && (r.state == apply.Waiting || silent <= mostRows) {
				rows = append(rows, row{i, len(v.blocked(i))})
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		x, y := &v.resources[a.resource], &v.resources[b.resource]
		return cmp.Or(
			cmp.Compare(unfinished(x.state), unfinished(y.state)),
			cmp.Compare(b.blocks, a.blocks),
			x.sent.Compare(y.sent),
			cmp.Compare(a.resource, b.resource),
		)
	})
	return rows
}

// unfinished returns 0 for a failed resource, 1 for one that may still succeed.
func unfinished(s apply.State) int {
	if s.Final() {
		return 0
	}
	return 1
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
			t.clock = max(t.clock, len(clock(v.resources[row.resource].took(now))))
		}
		t.names = max(0, columns-1-len("!   ")-t.clock)
		if t.words = t.names >= leastLabel+2+leastWords; t.words {
			t.names -= 2 + leastWords
		}
	}
	longest := 0
	for _, row := range rows {
		longest = max(longest, terminal.Width(label(v.resources[row.resource].id, t.names)))
	}
	t.names = longest
	return t
}

// line formats a row of the table. In a narrow table a failed resource is
// marked, since the word may be cut.
func (v *View) line(row row, t table, now time.Time) terminal.Line {
	r := &v.resources[row.resource]
	mood, words, mark := terminal.Busy, r.detail, " "
	switch {
	case r.state.Final():
		mood, words = terminal.Bad, detailText(string(r.state), r.detail)
		if t.narrow {
			mark = "!"
		}
	case words == "":
		words = waitsFor(r.state)
	}
	name := label(r.id, t.names)
	text := fmt.Sprintf("%s %s%s  %*s", mark, name, strings.Repeat(" ", t.names-terminal.Width(name)), t.clock, clock(r.took(now)))
	if t.words {
		text += "  " + words
	}
	return terminal.Line{Text: text, Mood: mood}
}

// hookLine returns the line of the hook that is running.
func (v *View) hookLine(columns int, now time.Time) terminal.Line {
	h := &v.hook
	head, took := "  "+h.event+" hook ", "  "+clock(h.took(now))
	text := head + label(h.id, max(0, columns-1-terminal.Width(head+took))) + took
	if words := cmp.Or(h.detail, waitsFor(h.state)); terminal.Width(text)+2+leastWords < columns {
		text += "  " + words
	}
	return terminal.Line{Text: text, Mood: terminal.Busy}
}

// waitsFor returns what a resource in a state waits for, if nothing else is known.
func waitsFor(state apply.State) string {
	switch state {
	case apply.Applying:
		return "no answer yet"
	case apply.Deleting:
		return "not gone yet"
	}
	return "not ready yet"
}

// rest counts, within a number of columns, the current resources without a
// line; folded of them would deserve one.
func (v *View) rest(shown []row, folded, columns int) string {
	visible := map[int]bool{}
	for _, row := range shown {
		visible[row.resource] = true
	}
	counts := map[string]int{}
	for i := range v.resources {
		if r := &v.resources[i]; !visible[i] && v.current(i) {
			counts[group(r.state)]++
		}
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
	if v.options.Graph || v.resources[i].state != apply.Pending {
		return true
	}
	return v.plan.Steps[i].Wave == v.open
}

func group(s apply.State) string {
	switch s {
	case apply.Failed, apply.TimedOut:
		return "failed"
	case apply.Waiting:
		return "waiting"
	case apply.Applying:
		return "being applied"
	case apply.Deleting:
		return "being deleted"
	case apply.Pending:
		return "not sent yet"
	case apply.Skipped:
		return "skipped"
	}
	return "" // not counted: ready, or never started
}
