package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
)

// The summary line has the number of resources that are only assumed ready.
func TestSummaryCountsAssumed(t *testing.T) {
	s := event.Summary{Took: 2 * time.Second, Results: []event.Result{
		{State: event.Ready}, {State: event.Ready, Assumed: true}, {State: event.Ready, Unchanged: true, Assumed: true}, {State: event.Failed},
	}}
	require.Equal(t, "3 ready, 1 failed, in 2s; 1 unchanged; 2 only assumed ready", (&printer{}).summarize(s))
}
