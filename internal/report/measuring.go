package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/exit"
	"github.com/ordapply/ordapply/internal/metrics"
	"github.com/ordapply/ordapply/internal/outfile"
	"github.com/ordapply/ordapply/internal/track"
	"github.com/ordapply/ordapply/internal/usage"
)

// measuring collects the metrics of a run and writes them to a file at the end.
// Without a file it does nothing.
type measuring struct {
	file    string
	metrics *metrics.Metrics
}

// newMeasuring starts collecting. It returns an error if the file cannot be
// written, before the run has done anything.
func newMeasuring(file string, labels map[string]string) (measuring, error) {
	if file == "" {
		return measuring{}, nil
	}
	if err := outfile.Check(file); err != nil {
		return measuring{}, usage.Errorf("--metrics-file=%s: %w", file, err)
	}
	m := measuring{file: file, metrics: metrics.New()}
	if err := m.metrics.Label(labels); err != nil {
		return measuring{}, usage.Errorf("--metrics-label: %w", err)
	}
	return m, nil
}

// reporters returns the reporter that feeds the metrics; none without a file.
func (m measuring) reporters() []reporter {
	if m.file == "" {
		return nil
	}
	return []reporter{measured{m.metrics}}
}

// measured feeds metrics with a run.
type measured struct{ *metrics.Metrics }

// RollBack implements reporter.
func (m measured) RollBack(_ int, run *track.Tracker) { m.Metrics.RollBack(run) }

// End does nothing: Files.Ended writes the file before the outcome is reported.
func (m measured) End(events.Outcome) {}

// ended records the end of a run and writes the file. It joins err with an
// error of writing.
func (m measuring) ended(err error) error {
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
func (m measuring) write() error {
	text, err := m.metrics.Text()
	if err != nil {
		return err
	}
	return outfile.Write(context.Background(), m.file, 0o644, text)
}
