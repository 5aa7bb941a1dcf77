package fielddiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// String is the change in one line: what was added begins with a plus, what was
// removed with a minus.
func (c Change) String() string {
	switch c.Kind {
	case Added:
		return "+ " + c.Path + ": " + text(c.After)
	case Removed:
		return "- " + c.Path + ": " + text(c.Before)
	case Reordered:
		return c.Path + ": now in the order " + text(c.After)
	}
	return c.Path + ": " + text(c.Before) + " -> " + text(c.After)
}

// Lines is the change as people read it: one line, or, of a text of several
// lines, which of its lines differ, at most so many.
func (c Change) Lines(limit int) []string {
	before, was := c.Before.(string)
	after, is := c.After.(string)
	if c.Kind != Changed || !was || !is || !strings.Contains(before, "\n") && !strings.Contains(after, "\n") {
		return []string{c.String()}
	}
	lines := []string{c.Path + ":"}
	differ := differingLines(before, after)
	for _, line := range differ[:min(limit, len(differ))] {
		lines = append(lines, "  "+line)
	}
	if more := len(differ) - limit; more > 0 {
		lines = append(lines, fmt.Sprintf("  … and %d more lines", more))
	}
	return lines
}

// differingLines are the lines that went, with a minus, and those that came,
// with a plus.
func differingLines(before, after string) []string {
	a, b := splitLines(before), splitLines(after)
	var out []string
	for _, op := range difflib.NewMatcher(a, b).GetOpCodes() {
		if op.Tag == 'e' {
			continue
		}
		for _, line := range a[op.I1:op.I2] {
			out = append(out, "- "+line)
		}
		for _, line := range b[op.J1:op.J2] {
			out = append(out, "+ "+line)
		}
	}
	return out
}

// splitLines tells a text that ends in a line break from one that does not.
func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	}
	lines[len(lines)-1] += " (no line break at the end)"
	return lines
}

// text is a value in one line. A string stands without quotes where nothing
// else could be meant.
func text(value any) string {
	if s, ok := value.(string); ok && unmistakable(s) {
		return s
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// unmistakable tells whether a string would be read as this string and no other
// value.
func unmistakable(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\n\r\t\"") || strings.Contains(s, " -> ") {
		return false
	}
	return !json.Valid([]byte(s))
}
