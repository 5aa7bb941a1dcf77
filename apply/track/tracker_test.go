package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
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

// The times of a resource are its stages', whatever else happens in between.
func TestTimesOfAResource(t *testing.T) {
	run := New(twoWaves(), start())
	for _, step := range []struct {
		seconds int
		event   event.Event
		want    Kind
	}{
		{1, event.Event{State: event.Applying}, WaveOpened},
		{2, event.Event{ID: named("a"), State: event.Applying}, Sent},
		{3, event.Event{ID: named("a"), State: event.Applying, Detail: "retrying"}, Progressed},
		{4, event.Event{ID: named("a"), State: event.Waiting}, Applied},
		{5, event.Event{ID: named("a"), State: event.Waiting, Detail: "0 of 1"}, Progressed},
		{6, event.Event{ID: named("a"), State: event.Ready, Assumed: true}, Ended},
		{7, event.Event{ID: named("other"), State: event.Ready}, Unknown},
		{8, event.Event{State: event.Ready}, WaveEnded},
	} {
		step.event.Time = at(step.seconds)
		require.Equal(t, step.want, run.Take(step.event).Kind, "%+v", step.event)
	}
	require.Equal(t, Resource{
		ID: named("a"), State: event.Ready, Last: Ended, Assumed: true, Queued: at(1), Times: event.Times{Sent: at(2), Applied: at(4), Done: at(6)},
	}, run.Resources[0])
	require.Equal(t, 4*time.Second, run.Resources[0].Took(at(99)))
	require.Equal(t, at(8), run.Last)
	require.Equal(t, None, run.Open)
	require.False(t, run.IsOver())
}

// A wave counts its resources by state, and takes from its opening to its end.
func TestAWave(t *testing.T) {
	run := New(twoWaves(), start())
	run.Take(event.Event{Time: at(1), Wave: 1, State: event.Deleting})
	require.Equal(t, 1, run.Open)
	run.Take(event.Event{Time: at(2), ID: named("b"), State: event.Deleting})
	require.Equal(t, event.Counts{event.Deleting: 1, event.Pending: 1}, run.Count(1))
	ended := run.Take(event.Event{Time: at(4), Wave: 1, State: event.Deleted})
	require.Equal(t, 3*time.Second, ended.Took())
	require.Equal(t, Wave{Members: []int{1, 2}, Deletes: true, Opened: at(1), Ended: at(4)}, run.Waves[1])
}

// A prune adds waves; known times stay.
func TestExtend(t *testing.T) {
	run := New(twoWaves(), start())
	run.Take(event.Event{Time: at(1), ID: named("a"), State: event.Ready})
	more := twoWaves()
	more.Steps = append(more.Steps, ordering.Step{ID: named("old"), Wave: 2})
	more.Waves = append(more.Waves, ordering.Wave{})
	run.Extend(more)
	require.Equal(t, event.Ready, run.Resources[0].State)
	require.Equal(t, []int{3}, run.Waves[2].Members)
	i, planned := run.Index(named("old"))
	require.True(t, planned)
	require.Equal(t, event.Pending, run.Resources[i].State)
	require.Equal(t, 2, run.Step(named("old")).Wave)
}

// Each operation on a hook has its own time.
func TestHooks(t *testing.T) {
	run := New(twoWaves(), start())
	hook := &event.Hook{Event: "pre-install"}
	take := func(seconds int, state event.State, detail string) Transition {
		return run.Take(event.Event{Time: at(seconds), ID: named("hook"), Hook: hook, State: state, Detail: detail})
	}
	require.Equal(t, HooksBegan, run.Take(event.Event{Hook: &event.Hook{Event: "pre-install", Count: 1}}).Kind)
	require.Equal(t, Sent, take(1, event.Deleting, "").Kind)
	require.Equal(t, "pre-install", run.Hook.Event)
	require.Equal(t, 2*time.Second, take(3, event.Deleted, "").Took())
	require.Nil(t, run.Hook)
	require.Equal(t, Sent, take(5, event.Applying, "").Kind)
	require.Equal(t, Applied, take(6, event.Waiting, "").Kind)
	require.Equal(t, Progressed, take(7, event.Waiting, "1 active").Kind)
	require.Equal(t, HookLogged, run.Take(event.Event{ID: named("hook"), Hook: &event.Hook{Event: "pre-install", Log: &event.ContainerLog{}}}).Kind)
	require.Equal(t, 4*time.Second, run.Hook.Took(at(9)))
	ended := take(9, event.Ready, "")
	require.Equal(t, 4*time.Second, ended.Took())
	require.Equal(t, event.Pending, run.Resources[0].State, "a hook is no resource")
}
