package terminal

import (
	"fmt"
	"time"

	"github.com/ordapply/ordapply/apply/track"
)

// Compare makes frames compare the run with an earlier one. It comes before Extend: nothing
// is known of waves that delete.
func (v *View) Compare(last track.RunTimes) {
	v.last, v.lastWaves = last, track.MatchWaves(last.ByWave, v.run.Plan.Waves)
}

// estimate returns a line about how long the run still takes if its waves take as long as
// in the earlier run; none if that is unknown, or the run does not continue. An unchanged
// run is over before that is of interest.
func (v *View) estimate(columns int, now time.Time) []Line {
	e, known := v.run.Estimate(v.lastWaves, now)
	if !known || v.interrupted || v.options.Graph || now.Sub(v.run.Started) < rowDelay || v.inWave() && v.isStuck() {
		return nil
	}
	left := remaining(e)
	texts := []string{left + " left" + v.lastTotal(), left + " left"}
	if e.Late > 0 {
		late := "slower than the last run: this wave took " + span(e.Late)
		texts = []string{late, "slower than last time"}
		if e.Left > 0 {
			texts = append([]string{late + "; " + left + " after it"}, texts...)
		}
	}
	return []Line{{Text: fitting(columns-1, texts...), Mood: Faint}}
}

// remaining returns "about 1m20s", or "at least 1m20s" if there is more.
func remaining(e track.Estimate) string {
	left := max(time.Second, e.Left.Round(time.Second))
	if e.Unknown {
		return fmt.Sprint("at least ", left)
	}
	return fmt.Sprint("about ", left)
}

// lastTotal returns how long the earlier run took; "" if it applied only some of the waves.
func (v *View) lastTotal() string {
	total, waves := track.InSeconds(v.last.Seconds), time.Duration(0)
	for _, wave := range v.lastWaves {
		waves += wave
	}
	if total < waves {
		return ""
	}
	return "; the last run took " + span(total)
}
