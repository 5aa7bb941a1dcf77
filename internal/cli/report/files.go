package report

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/telemetry"
	"github.com/ordapply/ordapply/kube"
)

// ViewFlags configures the output of a run other than its results.
type ViewFlags struct {
	NoLive        bool
	Quiet         bool
	MetricsFile   string
	MetricsLabels map[string]string
	Report        string
}

// Register defines the flags.
func (v *ViewFlags) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&v.NoLive, "no-live", false, "on a terminal, print a line per transition instead of the live view")
	flags.BoolVarP(&v.Quiet, "quiet", "q", false, "print only warnings, errors and the summary, and the output of -o name or -o json")
	flags.StringVar(&v.MetricsFile, "metrics-file", "", "file for the metrics of the run, in Prometheus text format; also written when the run fails")
	flags.StringToStringVar(&v.MetricsLabels, "metrics-label", nil, "NAME=VALUE: label of every series in --metrics-file, in addition to context and applyset; may be repeated. An empty value omits the label")
	flags.StringVar(&v.Report, "report", "", "file for an HTML page of the run: its timeline, critical path, changes and failures; also written when the run fails")
}

// Files are a run's metrics, page and trace, written at its end, however it ends.
type Files struct {
	measuring measuring
	page      page
	trace     *telemetry.Trace
	untraced  error // why the trace could not start
}

type preparingKey struct{}

// OnlyPreparing returns a context in which runs end when everything before their first write
// is done. They leave no trace.
func OnlyPreparing(ctx context.Context) context.Context {
	return context.WithValue(ctx, preparingKey{}, true)
}

// OnlyPrepares reports whether a run ends there.
func OnlyPrepares(ctx context.Context) bool { return ctx.Value(preparingKey{}) != nil }

// OpenFiles starts collecting the contents of the flags' files, and the trace that the
// environment asks for. A file that cannot be written, or labels that are invalid, are an
// error before the run has done anything; the Files then write the others. A trace that
// cannot be sent is a warning at the end.
func OpenFiles(cmd *cobra.Command, v ViewFlags, labels map[string]string) (*Files, error) {
	m, invalid := newMeasuring(v.MetricsFile, labels)
	p, err := newPage(v.Report)
	f := &Files{measuring: m, page: p}
	if !OnlyPrepares(cmd.Context()) {
		f.trace, f.untraced = telemetry.StartTrace(cmd.Context(), cmd.CommandPath(), labels)
	}
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
	err = f.page.ended(Outcome(summary, warnings, err), err)
	outcome := Outcome(summary, warnings, err)
	outcome.Untraced = cmp.Or(f.untraced, f.trace.End(err))
	return outcome, err
}
