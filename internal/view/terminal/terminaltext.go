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
