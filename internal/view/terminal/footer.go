package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
)

// Interrupted is the message when a run is asked to stop.
const Interrupted = "interrupted: finishing requests in flight; interrupt again to stop now"

// footer describes what comes next, or why nothing does.
func (v *View) footer(columns int) []Line {
	say := func(mood Mood, texts ...string) []Line {
		return []Line{{Text: fitting(columns-1, texts...), Mood: mood}}
	}
	switch {
	case v.interrupted:
		return say(Bad, Interrupted, "interrupted; repeat to stop now", "interrupted, ending")
	case v.run.IsOver() && !v.hasFailed():
		return nil
	case v.run.IsOver():
		return say(Faint, "collecting causes from the cluster", "collecting causes")
	case !v.inWave() || v.run.Open == len(v.run.Waves)-1:
		return nil
	case v.isStuck():
		return say(Bad, "no further wave will open", "no more waves")
	}
	return say(Faint, v.upcoming(columns, v.title), v.upcoming(columns, v.number), fmt.Sprintf("then %d more", len(v.run.Waves)-v.run.Open-1))
}

// hasFailed reports whether a resource failed or timed out, so that causes are collected.
func (v *View) hasFailed() bool {
	return slices.ContainsFunc(v.run.Resources, func(r track.Resource) bool { return r.State == event.Failed || r.State == event.TimedOut })
}

// number returns the short title of a wave.
func (v *View) number(wave int) string { return fmt.Sprintf("wave %d/%d", wave+1, len(v.run.Waves)) }

// upcoming lists the upcoming waves by title as far as columns allow, and at least
// the next one.
func (v *View) upcoming(columns int, title func(wave int) string) string {
	text := "then"
	for n := v.run.Open + 1; n < len(v.run.Waves); n++ {
		more := fmt.Sprintf(" and %d more", len(v.run.Waves)-n)
		part := fmt.Sprintf(" %s: %d", title(n), len(v.run.Waves[n].Members))
		if left := len(v.run.Waves) - n; left > 1 {
			part += ","
		}
		if Width(text+part)+len(more) > columns-1 && n > v.run.Open+1 {
			return strings.TrimSuffix(text, ",") + more
		}
		text += part
	}
	return text
}
