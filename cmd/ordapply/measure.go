package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/metrics"
	"github.com/ordapply/ordapply/internal/outfile"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// runView configures the output of a run beside its results.
type runView struct {
	noLive        bool
	metricsFile   string
	metricsLabels map[string]string
}

func (v *runView) register(flags *pflag.FlagSet) {
	flags.BoolVar(&v.noLive, "no-live", false, "on a terminal, print a line per transition instead of the live view")
	flags.StringVar(&v.metricsFile, "metrics-file", "", "file for the metrics of the run, in Prometheus text format; also written when the run fails")
	flags.StringToStringVar(&v.metricsLabels, "metrics-label", nil, "NAME=VALUE: label of every series in --metrics-file, in addition to context and applyset; may be repeated. An empty value omits the label")
}

// metricsRecorder collects the metrics of a run and writes them to a file at the end.
// Without a file it does nothing.
type metricsRecorder struct {
	file    string
	metrics *metrics.Metrics
	plan    *ordering.Plan
}

// newMetricsRecorder starts collecting. It returns an error if the file cannot be
// written, before the run has done anything.
func newMetricsRecorder(file string, labels map[string]string) (*metricsRecorder, error) {
	if file == "" {
		return &metricsRecorder{}, nil
	}
	if err := outfile.Check(file); err != nil {
		return nil, usagef("--metrics-file=%s: %w", file, err)
	}
	m := &metricsRecorder{file: file, metrics: metrics.New()}
	if err := m.metrics.Label(labels); err != nil {
		return nil, usagef("--metrics-label: %w", err)
	}
	return m, nil
}

// watch counts the requests of a client.
func (m *metricsRecorder) watch(config *rest.Config) {
	if m.file != "" {
		config.Wrap(m.metrics.Transport)
	}
}

// of counts requests by their purpose.
func (m *metricsRecorder) of(cluster kube.Cluster) kube.Cluster {
	if m.file == "" {
		return cluster
	}
	return m.metrics.Cluster(cluster)
}

func (m *metricsRecorder) begin() {
	if m.file != "" {
		m.metrics.Begin(m.plan)
	}
}

func (m *metricsRecorder) event(e apply.Event) {
	if m.file != "" && e.Hook == "" {
		m.metrics.Event(e)
	}
}

func (m *metricsRecorder) extend(plan *ordering.Plan) {
	if m.file != "" {
		m.metrics.Extend(plan)
	}
}

func (m *metricsRecorder) rollBack(_ int, plan *ordering.Plan) {
	if m.file != "" {
		m.metrics.RollBack(plan)
	}
}

// end does nothing: ended writes the file before the outcome is reported.
func (m *metricsRecorder) end(events.Outcome) {}

// ended records the end of a run and writes the file. It joins err with an
// error of writing.
func (m *metricsRecorder) ended(err error) error {
	if m.file == "" {
		return err
	}
	m.metrics.End(exitCode(err))
	if fault := m.write(); fault != nil {
		return errors.Join(err, fmt.Errorf("--metrics-file=%s: %w", m.file, fault))
	}
	return err
}

// write writes the file even if the run was interrupted.
func (m *metricsRecorder) write() error {
	text, err := m.metrics.Text()
	if err != nil {
		return err
	}
	return outfile.Write(context.Background(), m.file, 0o644, text)
}
