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
	"github.com/ordapply/ordapply/ordering"
)

// runView says how a run is shown beside its results.
type runView struct {
	noLive        bool
	metricsFile   string
	metricsLabels map[string]string
}

func (v *runView) register(flags *pflag.FlagSet) {
	flags.BoolVar(&v.noLive, "no-live", false, "on a terminal, print a line per transition instead of drawing what is going on")
	flags.StringVar(&v.metricsFile, "metrics-file", "", "file to write metrics of the run to, in Prometheus' text format, however it ends")
	flags.StringToStringVar(&v.metricsLabels, "metrics-label", nil, "NAME=VALUE: label of every series in --metrics-file, beside context and applyset; may be repeated. An empty value leaves the label out")
}

// measure keeps the metrics of a run and writes them to a file when it ends,
// however it ends. Without a file it does nothing.
type measure struct {
	file    string
	metrics *metrics.Metrics
	plan    *ordering.Plan
}

// newMeasure begins with the preparation of a run. A file that cannot be
// written is refused while nothing is lost yet.
func newMeasure(file string, labels map[string]string) (*measure, error) {
	if file == "" {
		return &measure{}, nil
	}
	if err := outfile.Check(file); err != nil {
		return nil, usagef("--metrics-file=%s: %w", file, err)
	}
	m := &measure{file: file, metrics: metrics.New()}
	if err := m.metrics.Label(labels); err != nil {
		return nil, usagef("--metrics-label: %w", err)
	}
	return m, nil
}

// watch counts the requests of a client.
func (m *measure) watch(config *rest.Config) {
	if m.file != "" {
		config.Wrap(m.metrics.Transport)
	}
}

// of lets requests be counted by what they are for.
func (m *measure) of(cluster apply.Cluster) apply.Cluster {
	if m.file == "" {
		return cluster
	}
	return m.metrics.Cluster(cluster)
}

func (m *measure) begin() {
	if m.file != "" {
		m.metrics.Begin(m.plan)
	}
}

func (m *measure) event(e apply.Event) {
	if m.file != "" && e.Hook == "" {
		m.metrics.Event(e)
	}
}

func (m *measure) extend(plan *ordering.Plan) {
	if m.file != "" {
		m.metrics.Extend(plan)
	}
}

func (m *measure) rollBack(_ int, plan *ordering.Plan) {
	if m.file != "" {
		m.metrics.RollBack(plan)
	}
}

// end does nothing: the file is written before anybody is told how the run ended.
func (m *measure) end(events.Outcome) {}

// ended writes the file of a run that ended with an error, or with none. What it
// returns is the end of the command: a file that cannot be written fails it.
func (m *measure) ended(err error) error {
	if m.file == "" {
		return err
	}
	m.metrics.End(exitCode(err))
	if fault := m.write(); fault != nil {
		return errors.Join(err, fmt.Errorf("--metrics-file=%s: %w", m.file, fault))
	}
	return err
}

// write writes the file, also when the run was interrupted.
func (m *measure) write() error {
	text, err := m.metrics.Text()
	if err != nil {
		return err
	}
	return outfile.Write(context.Background(), m.file, 0o644, text)
}
