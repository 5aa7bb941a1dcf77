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

// patience is how long a resource may take before it gets a line of its own,
// unless it has something to say.
const patience = time.Second

// mostRows is how many resources are shown at most, whatever the height.
const mostRows = 16

// row is one resource that is worth a line.
type row struct {
	resource int
	blocks   int
}

// Frame is what to show now, in fewer lines than rows: where the run stands,
// the resources that matter (failed ones, then those that block most, then the
// slowest), all others as counts, and what comes then.
func (v *View) Frame(columns, rows int, now time.Time) []terminal.Line {
	lines := []terminal.Line{{Text: v.header(columns, now)}}
	shown := v.worth(now)
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

// worth lists what is worth a line, the most important first. Of many that
// have no answer yet most have not been sent yet: they are worth none.
func (v *View) worth(now time.Time) []row {
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
			if r.detail != "" || r.took(now) >= patience && (r.state == apply.Waiting || silent <= mostRows) {
				rows = append(rows, row{i, len(v.blocked(i))})
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		x, y := &v.resources[a.resource], &v.resources[b.resource]
		return cmp.Or(
			cmp.Compare(open(x.state), open(y.state)),
			cmp.Compare(b.blocks, a.blocks),
			x.sent.Compare(y.sent),
			cmp.Compare(a.resource, b.resource),
		)
	})
	return rows
}

// open is 0 for what failed, 1 for what may still end well.
func open(s apply.State) int {
	if s.Final() {
		return 0
	}
	return 1
}

// table is how the rows of a frame are laid out.
type table struct {
	narrow       bool
	names, clock int  // widths of columns
	words        bool // there is room for what resources say
}

// leastWords is how many columns of what a resource says are worth showing.
const leastWords = 10

// layout gives names as much as leaves room for what there is to say; in a narrow
// frame, as leaves room for its beginning, or all where both would be too short.
func (v *View) layout(rows []row, columns int, now time.Time) table {
	t := table{narrow: columns < narrow, clock: 6, names: columns * 11 / 20, words: true}
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

// line is a row of the table. What failed is marked in a narrow one, where the
// word for that may be cut.
func (v *View) line(row row, t table, now time.Time) terminal.Line {
	r := &v.resources[row.resource]
	mood, words, mark := terminal.Busy, r.detail, " "
	switch {
	case r.state.Final():
		mood, words = terminal.Bad, said(string(r.state), r.detail)
		if t.narrow {
			mark = "!"
		}
	case words == "" && r.state == apply.Applying:
		words = "no answer yet"
	case words == "" && r.state == apply.Deleting:
		words = "not gone yet"
	case words == "":
		words = "not ready yet"
	}
	name := label(r.id, t.names)
	text := fmt.Sprintf("%s %s%s  %*s", mark, name, strings.Repeat(" ", t.names-terminal.Width(name)), t.clock, clock(r.took(now)))
	if t.words {
		text += "  " + words
	}
	return terminal.Line{Text: text, Mood: mood}
}

// rest says within a number of columns how many have no line of their own, of what
// is going on; folded of them would be worth one.
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

// current tells whether a resource belongs to what is going on.
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
	return "" // not worth counting: ready, or never reached
}
