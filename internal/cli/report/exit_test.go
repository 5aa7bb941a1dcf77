package report_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
)

// The exit code of a run that timed out says that waiting may help, unless undoing the run failed.
func TestExitCodeOfAnUndoneTimeout(t *testing.T) {
	failure := errors.New("Deployment web was not ready in time")
	of := func(s event.State) event.Summary { return event.Summary{Results: []event.Result{{State: s}}} }
	for name, c := range map[string]struct {
		summary event.Summary
		err     error
		code    int
	}{
		"undone":                  {code: report.ExitTimedOut},
		"undoing failed":          {summary: of(event.Failed), err: errors.New("conflict"), code: report.ExitFailed},
		"undoing was refused":     {err: errors.New("conflict"), code: report.ExitFailed},
		"undoing timed out":       {summary: of(event.TimedOut), err: errors.New("not ready"), code: report.ExitTimedOut},
		"nothing to go back to":   {err: history.ErrDeployedLast, code: report.ExitTimedOut},
		"undoing was interrupted": {err: event.ErrInterrupted, code: report.ExitFailed},
	} {
		err := report.AsTimeout(&state.UndoneError{Failure: failure, Revision: 1, Summary: c.summary, Err: c.err})
		require.Equal(t, c.code, report.ExitCode(err), name)
	}
}
