package apply

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// How much of what the cluster tells is shown, in characters. It is cut after
// values were hidden, so that none is cut in two.
const (
	textWidth = 500
	logWidth  = 240
	logLines  = 8
)

// hidden stands for the value of a Secret.
const hidden = "(value of a Secret)"

// secretValues are what the Secrets of the stream hold, and which Secrets these are.
// Programs print them into their logs, and controllers into messages.
func (r *run) secretValues() (all []string, known map[object.ID]bool) {
	known = map[object.ID]bool{}
	for i := range r.steps {
		if s := &r.steps[i]; s.ID.Kind == "Secret" && s.ID.Group == "" && s.obj != nil {
			all = append(all, valuesIn(s.obj)...)
			known[s.ID] = true
		}
	}
	return all, known
}

// values are texts that must not be shown.
type values struct {
	replacer *strings.Replacer
	short    []string // hidden only where a log gives them as a value
}

// newValues takes the lines of texts apart, since logs have lines. Short ones
// are words that would be hidden everywhere: "true", "admin".
func newValues(texts []string) values {
	var lines, short []string
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= leastValue {
				lines = append(lines, line, oneLine(line))
			} else if line != "" {
				short = append(short, line)
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, line := range lines {
		pairs = append(pairs, line, hidden)
	}
	slices.SortFunc(short, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return values{strings.NewReplacer(pairs...), slices.Compact(short)}
}

// line takes the values out of a line of a log.
func (v values) line(text string) string {
	text = v.replacer.Replace(text)
	for _, value := range v.short {
		for at := 0; at+len(value) <= len(text); at++ {
			if isTold(text, at, value) {
				text = text[:at] + hidden + text[at+len(value):]
				at += len(hidden) - 1
			}
		}
	}
	return text
}

// hide takes the values out of findings.
func (v values) hide(findings []Finding) []Finding {
	for i := range findings {
		f := &findings[i]
		f.Text = clip(v.replacer.Replace(f.Text), textWidth)
		for n, line := range f.Log {
			f.Log[n] = clip(v.line(line), logWidth)
		}
	}
	return findings
}

// logLine is a line of a log without what only a terminal understands.
func logLine(line string) string {
	return strings.TrimRight(terminalCodes().ReplaceAllString(line, ""), " \t\r")
}

// terminalCodes matches ECMA-48 control sequences: colours and cursor moves.
func terminalCodes() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
}

// oneLine makes a message one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func clip(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width]) + "…"
	}
	return text
}
