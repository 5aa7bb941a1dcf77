package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
)

// The summary line has the number of resources that are only assumed ready.
func TestSummaryCountsAssumed(t *testing.T) {
	s := event.Summary{Took: 2 * time.Second, Results: []event.Result{
		{State: event.Ready}, {State: event.Ready, Assumed: true}, {State: event.Ready, Unchanged: true, Assumed: true}, {State: event.Failed},
	}}
	require.Equal(t, "3 ready, 1 failed, in 2s; 1 unchanged; 2 only assumed ready", (&printer{}).summarize(s, ""))
}

// The line about a run, and that about its rollback, have the colour of their outcome, if the
// terminal has colours.
func TestTotalsAreColoured(t *testing.T) {
	run := event.Summary{Results: []event.Result{{State: event.Failed}}}
	back := event.Summary{Results: []event.Result{{State: event.Ready}}}
	outcome := events.Outcome{State: "failed", Summary: run, Rollback: &events.Rollback{Revision: 3, State: "done", Summary: back}}
	var out strings.Builder
	p := &printer{err: &out, shade: func(line terminal.Line) string { return fmt.Sprint(line.Mood, "|", line.Text) }}
	p.End(outcome)
	require.Equal(t, fmt.Sprint(terminal.Bad, "|1 failed, in 0s\n", terminal.Good, "|rollback to revision 3: 1 ready, in 0s\n"), out.String())
	out.Reset()
	p.shade = nil
	p.End(outcome)
	require.Equal(t, "1 failed, in 0s\nrollback to revision 3: 1 ready, in 0s\n", out.String())
}
