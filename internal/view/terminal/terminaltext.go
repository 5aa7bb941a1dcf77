package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns the number of columns of a line of plain text.
func Width(text string) int {
	columns := 0
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Clip cuts a line of plain text to a number of columns, and marks it as cut.
func Clip(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	var out strings.Builder
	left := columns - 1
	for _, r := range text {
		if left -= runeWidth(r); left < 0 {
			break
		}
		out.WriteRune(r)
	}
	if columns > 0 {
		out.WriteString("…")
	}
	return out.String()
}

// Wrap returns words in lines of at most the given width. The first line begins with one
// text, each further one with another. Longer words are not broken.
func Wrap(words []string, columns int, first, rest string) []string {
	var lines []string
	line, isEmpty := first, true
	for _, word := range words {
		switch {
		case isEmpty:
			line += word
		case Width(line)+1+Width(word) > columns:
			lines = append(lines, line)
			line = rest + word
		default:
			line += " " + word
		}
		isEmpty = false
	}
	return append(lines, line)
}
