package report_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/ordering"
)

// unrecorded is a follower that records nothing beside the events.
type unrecorded struct{}

func (unrecorded) Begin(*track.Tracker)         {}
func (unrecorded) Event(track.Transition)       {}
func (unrecorded) Extend(track.Extension)       {}
func (unrecorded) RollBack(int, *track.Tracker) {}

// Each recorder among the followers gets what is known about the run; the others are followed.
func TestRecorders(t *testing.T) {
	var lines []any
	log := func() *events.Log {
		return events.Follow(func(line any) { lines = append(lines, line) }, events.RunStart{})
	}
	all := report.NewReporters(&ordering.Plan{}, log(), unrecorded{}, log())
	all.Revision(3, "ci:deployer")
	require.Len(t, lines, 2)
	for _, line := range lines {
		revision := line.(events.Revision)
		require.Equal(t, 3, revision.Revision)
		require.Equal(t, "ci:deployer", revision.User)
	}
	lines = nil
	all.LostOrder(errors.New("2 objects lost order shop"))
	require.Len(t, lines, 2)
	for _, line := range lines {
		warning := line.(events.Warning)
		require.Equal(t, "order", warning.Source)
		require.Equal(t, "2 objects lost order shop", warning.Message)
	}
}
