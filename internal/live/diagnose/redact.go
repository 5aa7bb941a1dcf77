package diagnose

import (
	"regexp"
	"strings"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/plain"
)

// Limits of the cluster's texts, in characters. They are applied after values
// were hidden, so that no value is cut in two.
const (
	TextWidth = 500
	logWidth  = 240
	logLines  = 8
)

// Redact hides values in a diagnosis, in place, and shortens the rest.
func Redact(d *event.Diagnosis, values *redact.Replacer) {
	d.Cause = plain.Clip(values.Text(d.Cause), TextWidth)
	for i := range d.Findings {
		f := &d.Findings[i]
		f.Text = plain.Clip(values.Text(f.Text), TextWidth)
		for n, line := range f.Log {
			f.Log[n] = plain.Clip(values.Line(line), logWidth)
		}
	}
}

// logLine returns a line of a log without terminal control sequences.
func logLine(line string) string {
	return strings.TrimRight(terminalCodes().ReplaceAllString(line, ""), " \t\r")
}

// terminalCodes matches ECMA-48 control sequences: colours and cursor moves.
func terminalCodes() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
}
