package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
)

func start() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

func at(seconds int) time.Time { return start().Add(time.Duration(seconds) * time.Second) }

func named(name string) object.ID { return object.ID{Kind: "ConfigMap", Name: name} }

func twoWaves() *ordering.Plan {
	return &ordering.Plan{
		Steps: []ordering.Step{{ID: named("a")}, {ID: named("b"), Wave: 1}, {ID: named("c"), Wave: 1}},
		Waves: make([]ordering.Wave, 2),
	}
}

// The times of a resource are those of its stages, whatever else happens in between.
func TestTimesOfAResource(t *testing.T) {
	run := New(twoWaves(), start())
	for _, step := range []struct {
		seconds int
		event   progress.Event
		want    Kind
	}{
		{1, progress.Event{State: progress.Applying}, WaveOpened},
		{2, progress.Event{ID: named("a"), State: progress.Applying}, Sent},
		{3, progress.Event{ID: named("a"), State: progress.Applying, Detail: "retrying"}, Progressed},
		{4, progress.Event{ID: named("a"), State: progress.Waiting}, Applied},
		{5, progress.Event{ID: named("a"), State: progress.Waiting, Detail: "0 of 1"}, Progressed},
		{6, progress.Event{ID: named("a"), State: progress.Ready, Assumed: true}, Ended},
		{7, progress.Event{ID: named("other"), State: progress.Ready}, Unknown},
		{8, progress.Event{State: progress.Ready}, WaveEnded},
	} {
		step.event.Time = at(step.seconds)
		require.Equal(t, step.want, run.Take(step.event).Kind, "%+v", step.event)
	}
	require.Equal(t, Resource{
		ID: named("a"), State: progress.Ready, Last: Ended, Assumed: true, Queued: at(1), Times: progress.Times{Sent: at(2), Applied: at(4), Done: at(6)},
	}, run.Resources[0])
	require.Equal(t, 4*time.Second, run.Resources[0].Took(at(99)))
	require.Equal(t, at(8), run.Last)
	require.Equal(t, None, run.Open)
	require.False(t, run.IsOver())
}

// A wave counts its resources by state, and takes from its opening to its end.
func TestAWave(t *testing.T) {
	run := New(twoWaves(), start())
	run.Take(progress.Event{Time: at(1), Wave: 1, State: progress.Deleting})
	require.Equal(t, 1, run.Open)
	run.Take(progress.Event{Time: at(2), ID: named("b"), State: progress.Deleting})
	require.Equal(t, progress.Counts{progress.Deleting: 1, progress.Pending: 1}, run.Count(1))
	ended := run.Take(progress.Event{Time: at(4), Wave: 1, State: progress.Deleted})
	require.Equal(t, 3*time.Second, ended.Took())
	require.Equal(t, Wave{Members: []int{1, 2}, Deletes: true, Opened: at(1), Ended: at(4)}, run.Waves[1])
}

// A prune adds waves; what was known stays.
func TestExtend(t *testing.T) {
	run := New(twoWaves(), start())
	run.Take(progress.Event{Time: at(1), ID: named("a"), State: progress.Ready})
	more := twoWaves()
	more.Steps = append(more.Steps, ordering.Step{ID: named("old"), Wave: 2})
	more.Waves = append(more.Waves, ordering.Wave{})
	run.Extend(more)
	require.Equal(t, progress.Ready, run.Resources[0].State)
	require.Equal(t, []int{3}, run.Waves[2].Members)
	i, planned := run.Index(named("old"))
	require.True(t, planned)
	require.Equal(t, progress.Pending, run.Resources[i].State)
	require.Equal(t, 2, run.Step(named("old")).Wave)
}

// Each operation on a hook has its own time.
func TestHooks(t *testing.T) {
	run := New(twoWaves(), start())
	hook := &progress.Hook{Event: "pre-install"}
	take := func(seconds int, state progress.State, detail string) Transition {
		return run.Take(progress.Event{Time: at(seconds), ID: named("hook"), Hook: hook, State: state, Detail: detail})
	}
	require.Equal(t, HooksBegan, run.Take(progress.Event{Hook: &progress.Hook{Event: "pre-install", Count: 1}}).Kind)
	require.Equal(t, Sent, take(1, progress.Deleting, "").Kind)
	require.Equal(t, "pre-install", run.Hook.Event)
	require.Equal(t, 2*time.Second, take(3, progress.Deleted, "").Took())
	require.Nil(t, run.Hook)
	require.Equal(t, Sent, take(5, progress.Applying, "").Kind)
	require.Equal(t, Applied, take(6, progress.Waiting, "").Kind)
	require.Equal(t, Progressed, take(7, progress.Waiting, "1 active").Kind)
	require.Equal(t, HookLogged, run.Take(progress.Event{ID: named("hook"), Hook: &progress.Hook{Event: "pre-install", Log: &progress.ContainerLog{}}}).Kind)
	require.Equal(t, 4*time.Second, run.Hook.Took(at(9)))
	ended := take(9, progress.Ready, "")
	require.Equal(t, 4*time.Second, ended.Took())
	require.Equal(t, progress.Pending, run.Resources[0].State, "a hook is no resource")
}
