package liveview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/terminal"
)

// narrow is the width below which a frame says less.
const narrow = 60

// leastName is how much of a wave's name is worth showing.
const leastName = 4

// header says where the run stands, on the left, and since when, on the right.
// Where there is no room for both, the time goes last of all but the counts.
func (v *View) header(columns int, now time.Time) string {
	right := v.since(columns, now)
	space := columns - 1 - terminal.Width(right)
	forms := v.standings(space - 2)
	if terminal.Width(forms[len(forms)-1]) > space-2 {
		return fitting(columns-1, forms...)
	}
	left := fitting(space-2, forms...)
	return left + strings.Repeat(" ", max(2, space-terminal.Width(left))) + right
}

// since tells how long the wave and the run have taken by now.
func (v *View) since(columns int, now time.Time) string {
	run := clock(now.Sub(v.begin))
	switch {
	case !v.inWave() && columns < narrow:
		return run
	case !v.inWave():
		return "run " + run
	}
	wave := clock(now.Sub(v.opened))
	if columns < narrow {
		return wave
	}
	if limit := cmp.Or(v.plan.Waves[v.open].Timeout, v.options.WaveTimeout); limit > 0 {
		wave += " of " + limit.String()
	}
	return wave + ", run " + run
}

// inWave tells whether what goes on is a wave, and not the whole plan.
func (v *View) inWave() bool { return !v.options.Graph && v.open >= 0 }

// standings say where the run stands, in fewer and fewer columns: of a wave's
// name there is as much as columns allow, then nothing.
func (v *View) standings(columns int) []string {
	members := make([]int, len(v.resources))
	for i := range members {
		members[i] = i
	}
	if v.inWave() {
		members = v.waves[v.open]
	}
	done, bad := v.tally(members)
	counts, failed := fmt.Sprintf("%d of %d", done, len(members)), ""
	if bad > 0 {
		failed = fmt.Sprintf(", %d failed", bad)
	}
	words := counts + " " + v.goal(members) + v.guessed(members) + failed
	if !v.inWave() {
		return []string{words, counts + failed}
	}
	number := fmt.Sprintf("%d/%d", v.open+1, len(v.waves))
	forms := []string{v.title(v.open) + ": " + words}
	name := plain.Line(v.plan.Waves[v.open].Name)
	if room := columns - terminal.Width("wave "+number+" (): "+words); name != "" && room >= leastName {
		forms = append(forms, "wave "+number+" ("+terminal.Clip(name, room)+"): "+words)
	}
	forms = append(forms, "wave "+number+": "+words, number+": "+counts+failed)
	if bad > 0 {
		forms = append(forms, fmt.Sprintf("%s: %d failed", number, bad))
	}
	return forms
}

// fitting is the first text that fits into columns; the last one is cut if none
// does.
func fitting(columns int, texts ...string) string {
	for _, text := range texts {
		if terminal.Width(text) <= columns {
			return text
		}
	}
	return terminal.Clip(texts[len(texts)-1], max(0, columns))
}

// guessed says how many are ready only by assumption; "" for none.
func (v *View) guessed(of []int) string {
	n := 0
	for _, i := range of {
		if v.resources[i].assumed {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d only assumed)", n)
}

// goal is what resources are waited to become: a wave of deletions waits until its
// resources are gone, and so does a run in which there is nothing but deletions.
func (v *View) goal(of []int) string {
	if v.inWave() && v.deletes {
		return "gone"
	}
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
