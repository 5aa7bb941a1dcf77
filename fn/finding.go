package fn

import (
	"errors"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// Severity of a finding, as in a function's results.
type Severity string

// A finding of severity Error fails the run.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is something to tell the author.
type Finding struct {
	Severity Severity
	Message  string
	Object   *object.Meta // the resource it is about; nil: the configuration, or the stream
	Field    string       // the field it is about; "" when it is about the whole
}

// String is one line: the severity, what it is about, and the message.
func (f Finding) String() string {
	parts := []string{string(f.Severity)}
	if f.Object != nil {
		parts = append(parts, f.Object.ID.String())
	}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	return plain.Line(strings.Join(append(parts, f.Message), ": "))
}

// Findings are what a run has to tell, in the order found.
type Findings []Finding

// Failed tells whether one of them is an error.
func (fs Findings) Failed() bool {
	for _, f := range fs {
		if f.Severity == Error {
			return true
		}
	}
	return false
}

// Lines prints the findings one a line, errors first: some tools show only the
// first few.
func (fs Findings) Lines() string {
	var b strings.Builder
	for _, severity := range []Severity{Error, Warning, Info} {
		for _, f := range fs {
			if f.Severity == severity {
				b.WriteString(f.String() + "\n")
			}
		}
	}
	return b.String()
}

// Err is an error of one line for each finding, errors first; nil without findings.
func (fs Findings) Err() error {
	var errs []error
	for line := range strings.Lines(fs.Lines()) {
		errs = append(errs, errors.New(strings.TrimSuffix(line, "\n")))
	}
	return errors.Join(errs...)
}

func (fs *Findings) add(f Finding) { *fs = append(*fs, f) }
