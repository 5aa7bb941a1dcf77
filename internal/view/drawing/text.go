package drawing

import "strings"

// textWidth returns the maximum width of a text in pixels. The viewer chooses the font; the
// numbers are for DejaVu Sans, the widest of the common replacements for Helvetica.
func textWidth(text string, size float64, bold bool) float64 {
	width := 0.0
	for _, r := range text {
		width += runeWidth(r)
	}
	if bold {
		width *= 1.15
	}
	return width * size
}

// runeWidth returns the width of a character as a fraction of the font size.
func runeWidth(r rune) float64 {
	switch {
	case strings.ContainsRune("iljI|.,:;'/! ", r):
		return 0.34
	case strings.ContainsRune("ftr-()[]", r):
		return 0.42
	case strings.ContainsRune("mwMW×…@%", r) || r > 0x2000:
		return 1
	case 'A' <= r && r <= 'Z':
		return 0.76
	}
	return 0.64
}
