package track

import (
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/ordering"
)

// RunTimes is how long a run took. The history of an apply set stores it in this form.
type RunTimes struct {
	Seconds float64    `json:"seconds,omitempty"` // the whole run; 0: unknown
	ByWave  []WaveTime `json:"waveTimes,omitempty"`
}

// WaveTime is how long a wave took when something of it was last applied.
type WaveTime struct {
	Name    string  `json:"name,omitempty"`    // as in the plan
	Seconds float64 `json:"seconds,omitempty"` // 0: unknown
}

// WaveTimes returns the times of the waves of a plan that ran to its end, one for each. A wave in
// which everything was unchanged has the time of an earlier run.
func WaveTimes(plan *ordering.Plan, run event.Summary, earlier []WaveTime) []WaveTime {
	changed := map[int]bool{}
	for i, s := range plan.Steps {
		r := run.Results[i]
		changed[s.Wave] = changed[s.Wave] || !r.Sent.IsZero() && !r.Unchanged
	}
	out := make([]WaveTime, len(plan.Waves))
	for i, known := range MatchWaves(earlier, plan.Waves) {
		out[i] = WaveTime{plan.Waves[i].Name, known.Seconds()}
		if took := run.Waves[i]; changed[i] && took > 0 {
			out[i].Seconds = max(time.Millisecond, took.Round(time.Millisecond)).Seconds()
		}
	}
	return out
}

// MatchWaves returns the times of the waves of a plan, 0 for unknown ones. Waves are matched by
// name, and waves of the same name in their order.
func MatchWaves(times []WaveTime, waves []ordering.Wave) []time.Duration {
	byName := map[string][]WaveTime{}
	for _, w := range times {
		byName[w.Name] = append(byName[w.Name], w)
	}
	out := make([]time.Duration, len(waves))
	for i, w := range waves {
		if known := byName[w.Name]; len(known) > 0 {
			out[i], byName[w.Name] = InSeconds(known[0].Seconds), known[1:]
		}
	}
	return out
}

// InSeconds returns a stored number of seconds as a duration.
func InSeconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Estimate is how long a run still takes if its waves take as long as in an earlier run.
type Estimate struct {
	Left    time.Duration // of the waves that have not ended, as far as it is known
	Unknown bool          // the time of one of them is unknown
	Late    time.Duration // the earlier time of the open wave, if it already takes clearly longer; else 0
}

// lateFrom is how much longer than before a wave must take to be late.
const lateFrom = 2 * time.Second

// Estimate compares the run with the times of an earlier one, as MatchWaves returns them. It
// reports false if it knows no wave that has not ended.
func (t *Tracker) Estimate(earlier []time.Duration, now time.Time) (Estimate, bool) {
	e, known := Estimate{}, false
	for i, w := range t.Waves {
		switch {
		case !w.Ended.IsZero():
		case i >= len(earlier) || earlier[i] == 0:
			e.Unknown = true
		default:
			known = true
			took := time.Duration(0)
			if !w.Opened.IsZero() {
				took = now.Sub(w.Opened)
			}
			e.Left += max(0, earlier[i]-took)
			if took >= earlier[i]+lateFrom {
				e.Late = earlier[i]
			}
		}
	}
	return e, known
}
