package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/plain"
)

// narrowWidth is the width below which a frame is abbreviated.
const narrowWidth = 60

// leastName is the minimum width at which a wave's name is shown.
const leastName = 4

// header returns the progress on the left and the elapsed time on the right. If
// there is not enough room, only the counts take precedence over the time.
func (v *View) header(columns int, now time.Time) string {
	right := v.since(columns, now)
	space := columns - 1 - Width(right)
	forms := v.headerVariants(space - 2)
	if Width(forms[len(forms)-1]) > space-2 {
		return fitting(columns-1, forms...)
	}
	left := fitting(space-2, forms...)
	return left + strings.Repeat(" ", max(2, space-Width(left))) + right
}

// since returns the elapsed time of the wave and the run.
func (v *View) since(columns int, now time.Time) string {
	run := clock(now.Sub(v.run.Started))
	switch {
	case !v.inWave() && columns < narrowWidth:
		return run
	case !v.inWave():
		return "run " + run
	}
	wave := clock(now.Sub(v.run.Waves[v.run.Open].Opened))
	if columns < narrowWidth {
		return wave
	}
	if limit := cmp.Or(v.run.Plan.Waves[v.run.Open].Timeout, v.options.WaveTimeout); limit > 0 {
		wave += " of " + limit.String()
	}
	return wave + ", run " + run
}

// headerVariants returns descriptions of the progress with decreasing width: the
// wave's name is first shortened, then omitted.
func (v *View) headerVariants(columns int) []string {
	members := make([]int, len(v.run.Resources))
	for i := range members {
		members[i] = i
	}
	if v.inWave() {
		members = v.run.Waves[v.run.Open].Members
	}
	done, bad := v.tally(members)
	counts, failed := fmt.Sprintf("%d of %d", done, len(members)), ""
	if bad > 0 {
		failed = fmt.Sprintf(", %d failed", bad)
	}
	words := counts + " " + v.awaitedState(members) + v.assumedNote(members) + failed
	if !v.inWave() {
		return []string{words, counts + failed}
	}
	number := fmt.Sprintf("%d/%d", v.run.Open+1, len(v.run.Waves))
	forms := []string{v.title(v.run.Open) + ": " + words + v.overall(), v.title(v.run.Open) + ": " + words}
	name := plain.Line(v.run.Plan.Waves[v.run.Open].Name)
	if room := columns - Width("wave "+number+" (): "+words); name != "" && room >= leastName {
		forms = append(forms, "wave "+number+" ("+Clip(name, room)+"): "+words)
	}
	forms = append(forms, "wave "+number+": "+words, number+": "+counts+failed)
	if bad > 0 {
		forms = append(forms, fmt.Sprintf("%s: %d failed", number, bad))
	}
	return forms
}

// overall returns the progress of the whole run beside that of a wave: ", 70 of 101 overall"; "" in
// a run of one wave.
func (v *View) overall() string {
	if len(v.run.Waves) < 2 {
		return ""
	}
	all := make([]int, len(v.run.Resources))
	for i := range all {
		all[i] = i
	}
	done, _ := v.tally(all)
	return fmt.Sprintf(", %d of %d overall", done, len(all))
}

// assumedNote returns how many are only assumed ready, or "".
func (v *View) assumedNote(of []int) string {
	n := 0
	for _, i := range of {
		if v.run.Resources[i].Assumed {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d only assumed)", n)
}

// awaitedState returns the state that resources are waited for: "gone" in a wave of
// deletions, or in a run with deletions only, else "ready".
func (v *View) awaitedState(of []int) string {
	if v.inWave() && v.run.Waves[v.run.Open].Deletes {
		return "gone"
	}
	goal := "ready"
	for _, i := range of {
		switch v.run.Resources[i].State {
		case event.Deleting, event.Deleted, event.Kept:
			goal = "gone"
		case event.Applying, event.Waiting, event.Applied, event.Ready:
			return "ready"
		}
	}
	return goal
}
