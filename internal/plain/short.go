package plain

import (
	"fmt"
	"strings"
	"time"
)

// OneLine joins the lines of a message.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Clip shortens a text to a number of characters, and marks that with "…".
func Clip(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width]) + "…"
	}
	return text
}

// Age returns the time from then to now, rounded to seconds: "3m20s". A time in the future,
// by another clock, is 0s ago.
func Age(now, then time.Time) string {
	return max(now.Sub(then), 0).Round(time.Second).String()
}

// Sample returns the texts of the first items, most of them, and a last text that counts
// the others by a format with one %d, such as "and %d more".
func Sample[T any](items []T, most int, others string, text func(T) string) []string {
	var texts []string
	for _, item := range items[:min(most, len(items))] {
		texts = append(texts, text(item))
	}
	if more := len(items) - most; more > 0 {
		texts = append(texts, fmt.Sprintf(others, more))
	}
	return texts
}
