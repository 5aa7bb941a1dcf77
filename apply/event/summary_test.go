package event_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
)

// A prune that the run's timeout cut short before its first DELETE leaves nothing
// but "not started": the command still ends with the exit code of a timeout.
func TestSummaryOfRunAndPruneStaysOutOfTime(t *testing.T) {
	applied := event.Summary{Results: []event.Result{{State: event.Ready}}}
	pruned := event.Summary{Results: []event.Result{{State: event.NotStarted}}, OutOfTime: true}
	require.True(t, applied.Append(pruned).TimedOutOnly())
	require.True(t, pruned.Append(applied).TimedOutOnly())
	require.False(t, applied.Append(applied).TimedOutOnly())
}

// Resources that did not exist at their deletion are counted apart.
func TestSummaryCountsWhatDidNotExist(t *testing.T) {
	s := event.Summary{Results: []event.Result{{State: event.Deleted}, {State: event.Deleted, Unchanged: true}, {State: event.Ready, Unchanged: true}}}
	require.Equal(t, 1, s.Absent())
	require.Equal(t, 1, s.Unchanged())
}
