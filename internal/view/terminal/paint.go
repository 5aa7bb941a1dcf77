package terminal

import (
	"os"

	"golang.org/x/term"
)

// Colour is a colour of printed text, legible on a light and on a dark terminal.
type Colour string

// Values of Colour. The zero value is the terminal's own.
const (
	Green Colour = "32"
	Red   Colour = "31"
	Bold  Colour = "1"
)

// Painter colours text that is printed and stays; the zero value leaves it as it is.
type Painter struct{ on bool }

// NewPainter returns the painter for a file: it colours on a terminal that supports it, unless
// NO_COLOR is set.
func NewPainter(file *os.File) Painter {
	return Painter{file != nil && term.IsTerminal(int(file.Fd())) && MayDraw() && os.Getenv("NO_COLOR") == ""}
}

// Paint returns a text without control characters in a colour.
func (p Painter) Paint(colour Colour, text string) string {
	if !p.on || colour == "" {
		return text
	}
	return "\x1b[" + string(colour) + "m" + text + "\x1b[0m"
}
