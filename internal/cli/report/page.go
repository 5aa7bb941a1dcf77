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
	file string
	run  *html.Run
	log  *events.Log // reports to run
}

// newPage returns an error if the file cannot be written.
func newPage(file string) (page, error) {
	if file == "" {
		return page{}, nil
	}
	if err := files.CheckWritable(file); err != nil {
		return page{}, usage.Errorf("--report=%s: %w", file, err)
	}
	run := &html.Run{}
	return page{file, run, events.Follow(run.Take, events.RunStart{})}, nil
}

// begin starts collecting the events of a run.
func (p *page) begin(start events.RunStart) *events.Log {
	p.log = events.Follow(p.run.Take, start)
	return p.log
}

// ended writes the page of a run and returns its file. It is an error if it cannot be
// written.
func (p *page) ended(o events.Outcome) (string, error) {
	if p.file == "" {
		return "", nil
	}
	p.log.End(o)
	if err := written("report", p.file, p.text, nil); err != nil {
		return "", err
	}
	return p.file, nil
}

func (p *page) text() ([]byte, error) {
	var text bytes.Buffer
	err := html.Write(&text, p.run)
	return text.Bytes(), err
}
