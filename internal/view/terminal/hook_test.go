package terminal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A running hook has a line of its own below the header, in any width.
func TestAHookInTheFrame(t *testing.T) {
	plan := &ordering.Plan{Waves: []ordering.Wave{{}}, Steps: []ordering.Step{{ID: object.ID{Kind: "ConfigMap", Name: "a"}}}}
	v := NewView(track.New(plan, start()), ViewOptions{})
	job := object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}
	at := func(seconds int) time.Time { return start().Add(time.Duration(seconds) * time.Second) }
	take := func(seconds int, state event.State, detail string) {
		v.Take(event.Event{Time: at(seconds), ID: job, Hook: &event.Hook{Event: "pre-install"}, State: state, Detail: detail})
	}
	take(1, event.Applying, "")
	require.Equal(t, " |0 of 1 ready                                                             run 2s\n*|  pre-install hook Job shop/migrate  1s  no answer yet\n", shown(t, v.Frame(80, 24, at(2)), 80))
	take(3, event.Waiting, "1 active\x1b[2J")
	require.Contains(t, shown(t, v.Frame(80, 24, at(9)), 80), "migrate  8s  1 active")
	for columns := 10; columns < 120; columns++ {
		for _, line := range v.Frame(columns, 24, at(9)) {
			require.LessOrEqual(t, Width(Clip(line.Text, columns-1)), columns-1)
		}
	}
	require.Contains(t, shown(t, v.Frame(40, 24, at(9)), 40), "shop/migrate  8s")
	take(10, event.Ready, "")
	require.NotContains(t, shown(t, v.Frame(80, 24, at(11)), 80), "hook")
	v.Take(event.Event{Time: at(12), ID: object.ID{Kind: "ConfigMap", Name: "a"}, State: event.Ready})
	take(13, event.Deleting, "")
	require.NotContains(t, shown(t, v.Frame(80, 24, at(14)), 80), "causes", "a hook after the last wave is no failure")
	v.Interrupt()
	require.Contains(t, shown(t, v.Frame(80, 24, at(14)), 80), Interrupted)
}
