package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/exit"
	"github.com/ordapply/ordapply/internal/metrics"
	"github.com/ordapply/ordapply/internal/outfile"
	"github.com/ordapply/ordapply/internal/track"
	"github.com/ordapply/ordapply/internal/usage"
	"github.com/ordapply/ordapply/kube"
)

// ViewFlags configures the output of a run beside its results.
type ViewFlags struct {
	NoLive        bool
	MetricsFile   string
	MetricsLabels map[string]string
}

// Register defines the flags.
func (v *ViewFlags) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&v.NoLive, "no-live", false, "on a terminal, print a line per transition instead of the live view")
	flags.StringVar(&v.MetricsFile, "metrics-file", "", "file for the metrics of the run, in Prometheus text format; also written when the run fails")
	flags.StringToStringVar(&v.MetricsLabels, "metrics-label", nil, "NAME=VALUE: label of every series in --metrics-file, in addition to context and applyset; may be repeated. An empty value omits the label")
}

// Metrics collects the metrics of a run and writes them to a file at the end.
// Without a file it does nothing.
type Metrics struct {
	file    string
	metrics *metrics.Metrics
}

// NewMetrics starts collecting. It returns an error if the file cannot be
// written, before the run has done anything.
func NewMetrics(file string, labels map[string]string) (*Metrics, error) {
	if file == "" {
		return &Metrics{}, nil
	}
	if err := outfile.Check(file); err != nil {
		return nil, usage.Errorf("--metrics-file=%s: %w", file, err)
	}
	m := &Metrics{file: file, metrics: metrics.New()}
	if err := m.metrics.Label(labels); err != nil {
		return nil, usage.Errorf("--metrics-label: %w", err)
	}
	return m, nil
}

// Watch counts the requests of a client.
func (m *Metrics) Watch(config *rest.Config) {
	if m.file != "" {
		config.Wrap(m.metrics.Transport)
	}
}

// Of counts requests by their purpose.
func (m *Metrics) Of(cluster kube.Cluster) kube.Cluster {
	if m.file == "" {
		return cluster
	}
	return m.metrics.Cluster(cluster)
}

// reporters returns the reporter that feeds the metrics; none without a file.
func (m *Metrics) reporters() []reporter {
	if m.file == "" {
		return nil
	}
	return []reporter{measured{m.metrics}}
}

// measured feeds metrics with a run.
type measured struct{ *metrics.Metrics }

// RollBack implements reporter.
func (m measured) RollBack(_ int, run *track.Tracker) { m.Metrics.RollBack(run) }

// End does nothing: Ended writes the file before the outcome is reported.
func (m measured) End(events.Outcome) {}

// Ended records the end of a run and writes the file. It joins err with an
// error of writing.
func (m *Metrics) Ended(err error) error {
	if m.file == "" {
		return err
	}
	m.metrics.End(exit.Code(err))
	if fault := m.write(); fault != nil {
		return errors.Join(err, fmt.Errorf("--metrics-file=%s: %w", m.file, fault))
	}
	return err
}

// write writes the file even if the run was interrupted.
func (m *Metrics) write() error {
	text, err := m.metrics.Text()
	if err != nil {
		return err
	}
	return outfile.Write(context.Background(), m.file, 0o644, text)
}
