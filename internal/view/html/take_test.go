package html

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A run that is followed is the run that its saved lines give.
func TestAFollowedRunIsThatOfItsLines(t *testing.T) {
	var lines bytes.Buffer
	followed := &Run{}
	log := events.Follow(func(line any) { followed.Take(line); events.Write(&lines, line) }, events.RunStart{Server: "https://here", Context: "shop", Schedule: "waves"})
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	plan := &ordering.Plan{Steps: []ordering.Step{{ID: id, Layer: "data"}}, Waves: []ordering.Wave{{Name: "data"}}, Notes: []string{"a note"}}
	run := track.New(plan, time.Now())
	log.Begin(run)
	log.LostOrder(errors.New("a lost order"))
	hook := &event.Hook{Event: "pre-install"}
	for _, e := range []event.Event{
		{ID: object.ID{Kind: "Job", Name: "migrate"}, Hook: hook, State: event.Applying, Op: event.OpApply},
		{ID: object.ID{Kind: "Job", Name: "migrate"}, Hook: hook, State: event.Ready, Op: event.OpWait},
		{State: event.Applying},
		{ID: id, State: event.Applying, Op: event.OpApply},
		{ID: id, State: event.Waiting, Op: event.OpWait, Detail: "0 of 1"},
		{ID: id, State: event.Failed, Op: event.OpWait, Detail: "it failed"},
		{State: event.Failed},
	} {
		e.Time = time.Now()
		log.Event(run.Take(e))
	}
	log.RollBack(3, track.New(plan, time.Now()))
	log.End(events.Outcome{State: "failed", ExitCode: 1, Warnings: []string{"deprecated"}, Err: errors.New("it failed"), Rollback: &events.Rollback{Revision: 3, State: "done", Err: errors.New("again")}})
	read, err := Read(&lines)
	require.NoError(t, err)
	want, err := json.Marshal(read)
	require.NoError(t, err)
	got, err := json.Marshal(followed)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	require.Len(t, followed.Parts, 2)
	require.Equal(t, []string{"a note", "a lost order", "a note", "deprecated"}, followed.Warnings)
	require.Len(t, followed.Parts[0].Hooks, 1)
	require.Len(t, followed.Parts[1].Errors, 1)
}
