package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Line is a line of a frame with its mood.
type Line struct {
	Text string // without control characters
	Mood Mood
}

// Screen draws frames. Every Draw is a single Write and leaves the terminal in
// its normal state, since the process may end at any time.
type Screen struct {
	w       io.Writer
	colours map[Mood]string
	drawn   []int // widths of the lines of the current frame
	width   int   // of the terminal when the frame was drawn
}

// NewScreen returns a Screen that draws at the cursor, which must be at the
// start of a line.
func NewScreen(w io.Writer, colour bool) *Screen {
	s := &Screen{w: w}
	if colour {
		s.colours = colours(has256())
	}
	return s
}

// Sequences of ECMA-48 and the VT100, which every later terminal supports.
const (
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	cursorOff  = "\x1b[?25l"
	cursorOn   = "\x1b[?25h"
)

// Draw writes permanent text, which is empty or consists of whole lines,
// and a frame below it that replaces the last one. columns and rows are the
// terminal's size; the frame must have fewer lines than rows.
func (s *Screen) Draw(above string, frame []Line, columns, rows int) error {
	var b strings.Builder
	b.WriteString(cursorOff)
	b.WriteByte('\r')
	if up := s.height(columns, rows); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	if above != "" || columns != s.width {
		b.WriteString(eraseBelow) // terminals remember wrapped lines until they are erased
		b.WriteString(above)
	}
	s.drawn, s.width = s.drawn[:0], columns
	b.WriteString(wrapOff)
	for _, line := range frame {
		text := Clip(line.Text, columns-1)
		s.drawn = append(s.drawn, Width(text))
		b.WriteString(s.Shade(Line{text, line.Mood}))
		b.WriteString(eraseLine + "\n")
	}
	b.WriteString(wrapOn + eraseBelow + cursorOn)
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Forget starts the next frame at the cursor, which must be at the start of a
// line, because other output was written since the last one.
func (s *Screen) Forget() { s.drawn = nil }

// height returns the number of rows that the current frame takes: a terminal
// that became narrower has wrapped its lines.
func (s *Screen) height(columns, rows int) int {
	height := 0
	for _, drawn := range s.drawn {
		height += max(1, (drawn+columns-1)/max(1, columns))
	}
	return min(height, rows-1)
}

// Shader returns the function that colours a line printed to a file: on a terminal, unless
// NO_COLOR is set; elsewhere, and for nil, a line keeps its text.
func Shader(file *os.File) func(Line) string {
	onTerminal := file != nil && term.IsTerminal(int(file.Fd())) && MayDraw()
	return NewScreen(file, onTerminal && os.Getenv("NO_COLOR") == "").Shade
}

// Shade returns the text of a line in the colour of its mood.
func (s *Screen) Shade(line Line) string {
	code := s.colours[line.Mood]
	if code == "" || line.Text == "" {
		return line.Text
	}
	return "\x1b[" + code + "m" + line.Text + "\x1b[0m"
}
