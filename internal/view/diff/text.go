package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// String returns the change as one line. Additions start with a plus sign,
// removals with a minus sign.
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

// Lines returns the change for display: one line or, for multi-line strings,
// the lines that differ, up to a limit.
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

// differingLines returns the removed lines with a minus sign and the added ones
// with a plus sign.
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

// splitLines marks a text that does not end in a newline.
func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	}
	lines[len(lines)-1] += " (no line break at the end)"
	return lines
}

// text returns a value as one line. A string is not quoted if it is
// unambiguous.
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

// unmistakable reports whether a string without quotes can only be read as this
// string.
func unmistakable(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\n\r\t\"") || strings.Contains(s, " -> ") {
		return false
	}
	return !json.Valid([]byte(s))
}
