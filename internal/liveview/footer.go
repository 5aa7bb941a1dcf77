package liveview

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/terminal"
)

// Interrupted is the message when a run is asked to stop.
const Interrupted = "interrupted: finishing requests in flight; interrupt again to stop now"

// footer describes what comes next, or why nothing does.
func (v *View) footer(columns int) []terminal.Line {
	say := func(mood terminal.Mood, texts ...string) []terminal.Line {
		return []terminal.Line{{Text: fitting(columns-1, texts...), Mood: mood}}
	}
	switch {
	case v.interrupted:
		return say(terminal.Bad, Interrupted, "interrupted; repeat to stop now", "interrupted, ending")
	case v.over():
		return say(terminal.Faint, "collecting causes from the cluster", "collecting causes")
	case !v.inWave() || v.open == len(v.waves)-1:
		return nil
	case v.isStuck():
		return say(terminal.Bad, "no further wave will open", "no more waves")
	}
	return say(terminal.Faint, v.upcoming(columns, v.title), v.upcoming(columns, v.number), fmt.Sprintf("then %d more", len(v.waves)-v.open-1))
}

// isStuck reports whether something of the open wave failed, so that no later
// wave opens.
func (v *View) isStuck() bool {
	_, bad := v.tally(v.waves[v.open])
	return bad > 0
}

// number returns the short title of a wave.
func (v *View) number(wave int) string { return fmt.Sprintf("wave %d/%d", wave+1, len(v.waves)) }

// upcoming lists the upcoming waves by title as far as columns allow, and at least
// the next one.
func (v *View) upcoming(columns int, title func(wave int) string) string {
	text := "then"
	for n := v.open + 1; n < len(v.waves); n++ {
		more := fmt.Sprintf(" and %d more", len(v.waves)-n)
		part := fmt.Sprintf(" %s: %d", title(n), len(v.waves[n]))
		if left := len(v.waves) - n; left > 1 {
			part += ","
		}
		if terminal.Width(text+part)+len(more) > columns-1 && n > v.open+1 {
			return strings.TrimSuffix(text, ",") + more
		}
		text += part
	}
	return text
}

// over reports whether every resource is in its final state.
func (v *View) over() bool {
	for i := range v.resources {
		if !v.resources[i].state.Final() {
			return false
		}
	}
	return true
}
