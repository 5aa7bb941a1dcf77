package report

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/telemetry"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/operation/option"
)

// Files are a run's metrics, page and trace, written at its end, however it ends.
type Files struct {
	measuring measuring
	page      page
	trace     *telemetry.Trace
	untraced  error // why the trace could not start
}

// OpenFiles starts collecting the contents of the files that the options name, and the trace
// that the environment asks for. A file that cannot be written, or labels that are invalid, are an
// error before the run has done anything; the Files then write the others. A trace that
// cannot be sent is a warning at the end.
func OpenFiles(ctx context.Context, command string, v option.View, labels map[string]string) (*Files, error) {
	m, invalid := newMeasuring(v.MetricsFile, labels)
	p, err := newPage(v.Report)
	f := &Files{measuring: m, page: p}
	f.trace, f.untraced = telemetry.StartTrace(ctx, command, labels)
	return f, errors.Join(invalid, err)
}

// Watch counts and traces the requests of a client.
func (f *Files) Watch(config *rest.Config) {
	if f.trace != nil {
		config.Wrap(f.trace.Transport)
	}
	if f.measuring.file != "" {
		config.Wrap(f.measuring.metrics.Transport)
	}
}

// Of counts requests by their purpose, and traces writes.
func (f *Files) Of(cluster kube.Cluster) kube.Cluster {
	cluster = f.trace.Cluster(cluster)
	if f.measuring.file == "" {
		return cluster
	}
	return f.measuring.metrics.Cluster(cluster)
}

// followers returns the collectors of the files' contents. Their end is Ended, which writes
// them before the outcome is reported.
func (f *Files) followers(start events.RunStart) (all []follower) {
	if f.measuring.file != "" {
		all = append(all, f.measuring.metrics)
	}
	if f.page.file != "" {
		all = append(all, f.page.begin(start))
	}
	if f.trace != nil {
		all = append(all, f.trace)
	}
	return all
}

// Ended writes the files and sends the trace. It returns the outcome of the run, and err joined
// with the errors of writing.
func (f *Files) Ended(summary event.Summary, warnings []string, err error) (events.Outcome, error) {
	err = f.measuring.ended(err)
	page, unwritten := f.page.ended(Outcome(summary, warnings, err))
	if unwritten != nil {
		err = errors.Join(err, unwritten)
	}
	outcome := Outcome(summary, warnings, err)
	outcome.Page = page
	outcome.Untraced = cmp.Or(f.untraced, f.trace.End(err))
	return outcome, err
}
