package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply"
)

// The summary line has the number of resources that are only assumed ready.
func TestSummaryCountsAssumed(t *testing.T) {
	s := apply.Summary{Took: 2 * time.Second, Results: []apply.Result{
		{State: apply.Ready}, {State: apply.Ready, Assumed: true}, {State: apply.Ready, Unchanged: true, Assumed: true}, {State: apply.Failed},
	}}
	require.Equal(t, "3 ready, 1 failed, in 2s; 1 unchanged; 2 only assumed ready", (&printer{}).summarize(s))
}
