package apply

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
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

// secretValues are what the Secrets of the stream hold. Programs print them
// into their logs, and controllers into messages.
func (r *run) secretValues() values {
	var all []string
	for i := range r.steps {
		if s := &r.steps[i]; s.ID.Kind == "Secret" && s.ID.Group == "" && s.obj != nil {
			all = append(all, valuesIn(s.obj)...)
		}
	}
	return newValues(all)
}

// values are texts that must not be shown.
type values struct{ replacer *strings.Replacer }

// newValues takes the lines of texts apart, since logs have lines. Short ones
// are words that would be hidden everywhere: "true", "admin".
func newValues(texts []string) values {
	var lines []string
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= leastValue {
				lines = append(lines, line, oneLine(line))
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, line := range lines {
		pairs = append(pairs, line, hidden)
	}
	return values{strings.NewReplacer(pairs...)}
}

// hide takes the values out of findings.
func (v values) hide(findings []Finding) []Finding {
	for i := range findings {
		f := &findings[i]
		f.Text = clip(v.replacer.Replace(f.Text), textWidth)
		for n, line := range f.Log {
			f.Log[n] = clip(v.replacer.Replace(line), logWidth)
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
