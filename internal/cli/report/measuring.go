package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/view/telemetry"
)

// measuring collects the metrics of a run and writes them to a file at the end.
// Without a file it does nothing.
type measuring struct {
	file    string
	metrics *telemetry.Metrics
}

// newMeasuring starts collecting. It returns an error if the file cannot be
// written, before the run has done anything.
func newMeasuring(file string, labels map[string]string) (measuring, error) {
	if file == "" {
		return measuring{}, nil
	}
	if err := files.CheckWritable(file); err != nil {
		return measuring{}, usage.Errorf("--metrics-file=%s: %w", file, err)
	}
	m := measuring{file: file, metrics: telemetry.NewMetrics()}
	if err := m.metrics.Label(labels); err != nil {
		return measuring{}, usage.Errorf("--metrics-label: %w", err)
	}
	return m, nil
}

// ended records the end of a run and writes the file. It joins err with an
// error of writing.
func (m measuring) ended(err error) error {
	if m.file == "" {
		return err
	}
	m.metrics.End(ExitCode(err))
	return written("metrics-file", m.file, m.metrics.Text, err)
}

// written writes the file of a flag, even if the run was interrupted. It joins err with an
// error of making the text or of writing it.
func written(flag, file string, contents func() ([]byte, error), err error) error {
	text, fault := contents()
	if fault == nil {
		fault = files.Write(context.Background(), file, 0o644, text)
	}
	if fault != nil {
		return errors.Join(err, fmt.Errorf("--%s=%s: %w", flag, file, fault))
	}
	return err
}
