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
	names := v.nameWidth(shown, columns)
	for _, row := range shown {
		lines = append(lines, v.line(row, names, now))
		if words := v.blocks(row.resource, columns-7); explain && words != "" {
			lines = append(lines, terminal.Line{Text: "      " + words, Mood: terminal.Faint})
		}
	}
	if rest := v.rest(shown, folded); rest != "" {
		lines = append(lines, terminal.Line{Text: "  " + rest, Mood: terminal.Faint})
	}
	lines = append(lines, footer...)
	return lines[:min(len(lines), max(0, rows-1))]
}

// header says where the run stands, on the left, and since when, on the right.
func (v *View) header(columns int, now time.Time) string {
	left, right := "", "run "+clock(now.Sub(v.begin))
	narrow := columns < 60
	members := v.waves[max(v.open, 0)]
	if v.options.Graph || v.open < 0 {
		members = make([]int, len(v.resources))
		for i := range members {
			members[i] = i
		}
	} else {
		left = v.title(v.open) + ": "
		since := clock(now.Sub(v.opened))
		if limit := cmp.Or(v.plan.Waves[v.open].Timeout, v.options.WaveTimeout); limit > 0 && !narrow {
			since += " of " + limit.String()
		}
		if right = since + ", " + right; narrow {
			right = since
		}
	}
	done, bad := v.tally(members)
	left += fmt.Sprintf("%d of %d %s", done, len(members), v.goal(members))
	if bad > 0 {
		left += fmt.Sprintf(", %d failed", bad)
	}
	space := columns - 1 - terminal.Width(right)
	left = terminal.Clip(left, max(0, space-2))
	return left + strings.Repeat(" ", max(2, space-terminal.Width(left))) + right
}

// goal is what is waited for: where nothing but deletions goes on, that all is
// gone.
func (v *View) goal(of []int) string {
	goal := "ready"
	for _, i := range of {
		switch v.resources[i].state {
		case apply.Deleting, apply.Deleted, apply.Kept:
			goal = "gone"
		case apply.Applying, apply.Waiting, apply.Applied, apply.Ready:
			return "ready"
		}
	}
	return goal
}

// tally counts who got there and who will not.
func (v *View) tally(of []int) (done, bad int) {
	for _, i := range of {
		switch v.resources[i].state {
		case apply.Ready, apply.Applied, apply.Deferred, apply.Deleted, apply.Kept:
			done++
		case apply.Failed, apply.TimedOut:
			bad++
		}
	}
	return done, bad
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

// nameWidth is the width of the column of names: that of the longest, as far as
// it leaves room for what there is to say.
func (v *View) nameWidth(rows []row, columns int) int {
	width := 0
	for _, row := range rows {
		width = max(width, terminal.Width(terminal.Plain(v.resources[row.resource].id.String())))
	}
	return min(width, columns*11/20)
}

func (v *View) line(row row, names int, now time.Time) terminal.Line {
	r := &v.resources[row.resource]
	mood, words := terminal.Busy, r.detail
	switch {
	case r.state.Final():
		mood, words = terminal.Bad, said(string(r.state), r.detail)
	case words == "" && r.state == apply.Applying:
		words = "no answer yet"
	case words == "" && r.state == apply.Deleting:
		words = "not gone yet"
	case words == "":
		words = "not ready yet"
	}
	name := label(r.id, names)
	pad := strings.Repeat(" ", names-terminal.Width(name))
	return terminal.Line{Text: fmt.Sprintf("  %s%s  %6s  %s", name, pad, clock(r.took(now)), words), Mood: mood}
}

// rest says how many have no line of their own, of what is going on; folded of
// them would be worth one.
func (v *View) rest(shown []row, folded int) string {
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
	for _, name := range []string{"failed", "waiting", "being applied", "being deleted", "not sent yet", "skipped"} {
		if n := counts[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if folded > 0 || len(shown) > 0 {
		return "more: " + strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ")
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

// footer says what comes then, or that nothing will.
func (v *View) footer(columns int) []terminal.Line {
	switch {
	case v.interrupted:
		return []terminal.Line{{Text: "interrupted: finishing what was sent; once more ends at once", Mood: terminal.Bad}}
	case v.over():
		return []terminal.Line{{Text: "asking the cluster for the causes", Mood: terminal.Faint}}
	case v.options.Graph || v.open < 0 || v.open == len(v.waves)-1:
		return nil
	}
	if _, bad := v.tally(v.waves[v.open]); bad > 0 {
		return []terminal.Line{{Text: "no later wave will open", Mood: terminal.Bad}}
	}
	text := "then"
	for n := v.open + 1; n < len(v.waves); n++ {
		part := fmt.Sprintf(" %s: %d", v.title(n), len(v.waves[n]))
		if left := len(v.waves) - n; left > 1 {
			part += ","
		}
		more := fmt.Sprintf(" and %d more", len(v.waves)-n)
		if terminal.Width(text+part)+len(more) > columns-1 && n > v.open+1 {
			text = strings.TrimSuffix(text, ",") + more
			break
		}
		text += part
	}
	return []terminal.Line{{Text: text, Mood: terminal.Faint}}
}

// over tells whether every resource is in its final state.
func (v *View) over() bool {
	for i := range v.resources {
		if !v.resources[i].state.Final() {
			return false
		}
	}
	return true
}
