package redact

import (
	"slices"
	"strings"
)

// Replacer hides values in the texts of a cluster: events, messages and logs. Its zero
// value hides nothing.
type Replacer struct {
	long  *strings.Replacer
	short []string // hidden only where a log presents them as a value
}

// NewReplacer returns a Replacer of values, such as the result of Values. It hides each
// line of a value, as logs contain them. Short ones, such as "true" or "admin", are
// words that must not be hidden everywhere.
func NewReplacer(values []string) *Replacer {
	var long, short []string
	for _, value := range values {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= minLength {
				long = append(long, line, strings.Join(strings.Fields(line), " "))
			} else if line != "" {
				short = append(short, line)
			}
		}
	}
	slices.SortFunc(long, byLength)
	slices.SortFunc(short, byLength)
	var pairs []string
	for _, line := range long {
		pairs = append(pairs, line, placeholder)
	}
	return &Replacer{strings.NewReplacer(pairs...), slices.Compact(short)}
}

// Text hides the values in a message.
func (r *Replacer) Text(text string) string {
	if r.long == nil {
		return text
	}
	return r.long.Replace(text)
}

// Line hides the values in a line of a log, short ones too.
func (r *Replacer) Line(text string) string {
	text = r.Text(text)
	for _, value := range r.short {
		for at := 0; at+len(value) <= len(text); at++ {
			if isValueAt(text, at, value) {
				text = text[:at] + placeholder + text[at+len(value):]
				at += len(placeholder) - 1
			}
		}
	}
	return text
}
