package report

import (
	"errors"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/exit"
	"github.com/ordapply/ordapply/kube"
)

// ViewFlags configures the output of a run beside its results.
type ViewFlags struct {
	NoLive        bool
	MetricsFile   string
	MetricsLabels map[string]string
	Report        string
}

// Register defines the flags.
func (v *ViewFlags) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&v.NoLive, "no-live", false, "on a terminal, print a line per transition instead of the live view")
	flags.StringVar(&v.MetricsFile, "metrics-file", "", "file for the metrics of the run, in Prometheus text format; also written when the run fails")
	flags.StringToStringVar(&v.MetricsLabels, "metrics-label", nil, "NAME=VALUE: label of every series in --metrics-file, in addition to context and applyset; may be repeated. An empty value omits the label")
	flags.StringVar(&v.Report, "report", "", "file for an HTML page of the run: its timeline, critical path, changes and failures; also written when the run fails")
}

// Files are what a run writes at its end, whatever that is: its metrics and its page.
type Files struct {
	measuring measuring
	page      page
}

// OpenFiles starts collecting what the files of the flags need. A file that cannot be
// written, or labels that are invalid, are an error before the run has done anything;
// the Files then write the others.
func OpenFiles(v ViewFlags, labels map[string]string) (*Files, error) {
	m, invalid := newMeasuring(v.MetricsFile, labels)
	p, err := newPage(v.Report)
	return &Files{m, p}, errors.Join(invalid, err)
}

// Watch counts the requests of a client.
func (f *Files) Watch(config *rest.Config) {
	if f.measuring.file != "" {
		config.Wrap(f.measuring.metrics.Transport)
	}
}

// Of counts requests by their purpose.
func (f *Files) Of(cluster kube.Cluster) kube.Cluster {
	if f.measuring.file == "" {
		return cluster
	}
	return f.measuring.metrics.Cluster(cluster)
}

// reporters returns the reporters that feed the files.
func (f *Files) reporters(start events.RunStart) []reporter {
	return append(f.measuring.reporters(), f.page.reporters(start)...)
}

// Ended writes the files. It returns the outcome of the run, and err joined with the
// errors of writing.
func (f *Files) Ended(summary apply.Summary, warnings []string, err error) (events.Outcome, error) {
	err = f.measuring.ended(err)
	err = f.page.ended(exit.Outcome(summary, warnings, err), err)
	return exit.Outcome(summary, warnings, err), err
}
