package report

import (
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/tracing"
)

// traced feeds a trace with a run.
type traced struct{ *tracing.Trace }

// End does nothing: Files.Ended ends the trace before the outcome is reported.
func (traced) End(events.Outcome) {}

// tracers returns the reporter that feeds the trace; none without one.
func (f *Files) tracers() []reporter {
	if f.trace == nil {
		return nil
	}
	return []reporter{traced{f.trace}}
}
