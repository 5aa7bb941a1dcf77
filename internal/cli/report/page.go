package report

import (
	"bytes"

	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/html"
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
	if err := files.CheckWritable(file); err != nil {
		return page{}, usage.Errorf("--report=%s: %w", file, err)
	}
	lines := &bytes.Buffer{}
	return page{file, lines, events.NewLog(lines, events.RunStart{})}, nil
}

// begin starts collecting the events of a run.
func (p *page) begin(start events.RunStart) *events.Log {
	p.log = events.NewLog(p.lines, start)
	return p.log
}

// ended writes the page of a run. It joins err with an error of writing.
func (p *page) ended(o events.Outcome, err error) error {
	if p.file == "" {
		return err
	}
	p.log.End(o)
	return written("report", p.file, p.text, err)
}

func (p *page) text() ([]byte, error) {
	run, err := html.Read(p.lines)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = html.Write(&text, run)
	return text.Bytes(), err
}
