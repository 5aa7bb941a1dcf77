package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/htmlreport"
	"github.com/ordapply/ordapply/internal/outfile"
	"github.com/ordapply/ordapply/internal/usage"
)

// page collects the events of a run and writes a page of them at the end. Without a file
// it does nothing.
type page struct {
	file  string
	lines *bytes.Buffer
	log   *events.Log // writes to lines
}

// newPage returns an error if the file cannot be written.
func newPage(file string) (page, error) {
	if file == "" {
		return page{}, nil
	}
	if err := outfile.Check(file); err != nil {
		return page{}, usage.Errorf("--report=%s: %w", file, err)
	}
	lines := &bytes.Buffer{}
	return page{file, lines, events.NewLog(lines, events.RunStart{})}, nil
}

// reporters returns the reporter that feeds the page; none without a file.
func (p *page) reporters(start events.RunStart) []reporter {
	if p.file == "" {
		return nil
	}
	p.log = events.NewLog(p.lines, start)
	return []reporter{paged{p.log}}
}

// paged feeds a page with a run.
type paged struct{ *events.Log }

// End does nothing: Files.Ended writes the page before the outcome is reported.
func (p paged) End(events.Outcome) {}

// ended writes the page of a run, even if it was interrupted. It joins err with an error
// of writing.
func (p *page) ended(o events.Outcome, err error) error {
	if p.file == "" {
		return err
	}
	p.log.End(o)
	if fault := p.write(); fault != nil {
		return errors.Join(err, fmt.Errorf("--report=%s: %w", p.file, fault))
	}
	return err
}

func (p *page) write() error {
	run, err := htmlreport.Read(p.lines)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := htmlreport.Write(&text, run); err != nil {
		return err
	}
	return outfile.Write(context.Background(), p.file, 0o644, text.Bytes())
}
