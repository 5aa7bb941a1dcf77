package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/progress"
)

// Limits of what is shown of the cluster's texts, in characters. They are
// applied after values were hidden, so that no value is cut in two.
const (
	TextWidth = 500
	logWidth  = 240
	logLines  = 8
)

// HiddenValues hides texts that must not be shown.
type HiddenValues struct {
	Replacer *strings.Replacer
	short    []string // hidden only where a log presents them as a value
}

// NewHiddenValues splits texts into lines, as logs are. Short ones, such as "true"
// or "admin", are words that must not be hidden everywhere.
func NewHiddenValues(texts []string) HiddenValues {
	var lines, short []string
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= kubeerr.MinValueLength {
				lines = append(lines, line, OneLine(line))
			} else if line != "" {
				short = append(short, line)
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, line := range lines {
		pairs = append(pairs, line, kubeerr.HiddenValue)
	}
	slices.SortFunc(short, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return HiddenValues{strings.NewReplacer(pairs...), slices.Compact(short)}
}

// line hides the values in a line of a log.
func (v HiddenValues) line(text string) string {
	text = v.Replacer.Replace(text)
	for _, value := range v.short {
		for at := 0; at+len(value) <= len(text); at++ {
			if kubeerr.IsValueAt(text, at, value) {
				text = text[:at] + kubeerr.HiddenValue + text[at+len(value):]
				at += len(kubeerr.HiddenValue) - 1
			}
		}
	}
	return text
}

// Hide hides the values in findings.
func (v HiddenValues) Hide(findings []progress.Finding) []progress.Finding {
	for i := range findings {
		f := &findings[i]
		f.Text = Clip(v.Replacer.Replace(f.Text), TextWidth)
		for n, line := range f.Log {
			f.Log[n] = Clip(v.line(line), logWidth)
		}
	}
	return findings
}

// logLine returns a line of a log without terminal control sequences.
func logLine(line string) string {
	return strings.TrimRight(terminalCodes().ReplaceAllString(line, ""), " \t\r")
}

// terminalCodes matches ECMA-48 control sequences: colours and cursor moves.
func terminalCodes() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
}

// OneLine joins the lines of a message.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Clip shortens a text to a number of characters.
func Clip(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width]) + "…"
	}
	return text
}
