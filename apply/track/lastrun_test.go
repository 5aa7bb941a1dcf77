package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// timed returns the tracker of a run of waves, with a resource in each, and a function that
// ends the next wave after some time.
func timed(names ...string) (*Tracker, func(took time.Duration, unchanged bool)) {
	plan := &ordering.Plan{}
	for i, name := range names {
		plan.Waves = append(plan.Waves, ordering.Wave{Name: name})
		plan.Steps = append(plan.Steps, ordering.Step{ID: object.ID{Kind: "ConfigMap", Name: string(rune('a' + i))}, Wave: i})
	}
	now, wave := time.Unix(0, 0), 0
	t := New(plan, now)
	return t, func(took time.Duration, unchanged bool) {
		id := plan.Steps[wave].ID
		t.Take(event.Event{Time: now, Wave: wave, State: event.Applying})
		t.Take(event.Event{Time: now, Wave: wave, ID: id, State: event.Applying})
		now = now.Add(took)
		t.Take(event.Event{Time: now, Wave: wave, ID: id, State: event.Ready, Change: event.Change{Unchanged: unchanged}})
		t.Take(event.Event{Time: now, Wave: wave, State: event.Ready})
		wave++
	}
}

// A wave in which nothing was applied keeps the time of an earlier run: a run that finds
// everything unchanged says nothing. So does one that was open for no time, or has no waves.
func TestWaveTimes(t *testing.T) {
	plan, run := &ordering.Plan{}, event.Summary{Waves: []time.Duration{time.Second, 2 * time.Second, time.Second, 0, 1}}
	for i, name := range []string{"data", "", "", "web", "last"} {
		plan.Waves = append(plan.Waves, ordering.Wave{Name: name})
		plan.Steps = append(plan.Steps, ordering.Step{ID: named(string(rune('a' + i))), Wave: i})
		run.Results = append(run.Results, event.Result{Times: event.Times{Sent: at(i)}, Unchanged: name == "data"})
	}
	run.Results[2].Times = event.Times{} // nothing was sent
	run.Results = append(run.Results, event.Result{State: event.Deleted, Times: event.Times{Sent: at(9)}})
	require.Equal(t, []WaveTime{{"data", 60}, {"", 2}, {"", 0}, {"web", 0}, {"last", 0.001}}, WaveTimes(plan, run, []WaveTime{{"gone", 9}, {"", 7}, {"data", 60}}))
}

// Waves are found by name when the plan has others.
func TestMatchWaves(t *testing.T) {
	waves := []ordering.Wave{{Name: "web"}, {Name: "new"}, {}, {}, {Name: "data"}}
	require.Equal(t, []time.Duration{4 * time.Second, 0, 2 * time.Second, 3 * time.Second, 1500 * time.Millisecond},
		MatchWaves([]WaveTime{{"data", 1.5}, {"", 2}, {"", 3}, {"web", 4}, {"", 5}}, waves))
	require.Equal(t, make([]time.Duration, 5), MatchWaves(nil, waves))
}

func TestEstimate(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	earlier := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}
	run, end := timed("a", "b", "c")
	require.Equal(t, Estimate{Left: time.Minute}, estimate(t, run, earlier, at(5)), "time before the first wave is in none")
	end(15*time.Second, false)
	run.Take(event.Event{Time: at(15), Wave: 1, State: event.Applying})
	require.Equal(t, Estimate{Left: 45 * time.Second}, estimate(t, run, earlier, at(20)))
	require.Equal(t, Estimate{Left: 30 * time.Second}, estimate(t, run, earlier, at(36)), "never negative, and not late at once")
	require.Equal(t, Estimate{Left: 30 * time.Second, Late: 20 * time.Second}, estimate(t, run, earlier, at(37)))
	require.Equal(t, Estimate{Left: 20 * time.Second, Unknown: true}, estimate(t, run, []time.Duration{1, 20 * time.Second}, at(15)))
	_, known := run.Estimate([]time.Duration{time.Second, 0, 0}, at(20))
	require.False(t, known, "only a wave that ended is known")
}

func estimate(t *testing.T, run *Tracker, earlier []time.Duration, now time.Time) Estimate {
	t.Helper()
	e, known := run.Estimate(earlier, now)
	require.True(t, known)
	return e
}
