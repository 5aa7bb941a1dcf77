package terminal

import (
	"fmt"
	"io"
	"strings"
)

// Line is one line of a frame, and how it is to be understood.
type Line struct {
	Text string // plain
	Mood Mood
}

// Mood is how a line is to be understood; terminals show it by a colour.
type Mood int

// The moods.
const (
	Neutral Mood = iota
	Bad
	Busy
	Faint
)

// Screen draws frames. Every Draw is a single Write, and between two of them
// the terminal is as it was found: the process may end at any time.
type Screen struct {
	w      io.Writer
	colour bool
	drawn  []int // the widths of the lines of the frame that is there
	width  int   // of the terminal when it was drawn
}

// NewScreen draws where the cursor is, at the beginning of a line.
func NewScreen(w io.Writer, colour bool) *Screen { return &Screen{w: w, colour: colour} }

// These sequences are those of ECMA-48 and of the VT100, which every terminal
// since has.
const (
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	cursorOff  = "\x1b[?25l"
	cursorOn   = "\x1b[?25h"
)

// Draw writes text that stays, which is empty or whole plain lines, and a frame
// below it in the place of the last one. columns and rows are the terminal's
// size; the frame must have fewer lines than it has rows.
func (s *Screen) Draw(above string, frame []Line, columns, rows int) error {
	var b strings.Builder
	b.WriteString(cursorOff)
	b.WriteByte('\r')
	if up := s.height(columns, rows); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	if above != "" || columns != s.width {
		b.WriteString(eraseBelow) // a terminal that broke lines remembers which, until it is erased
		b.WriteString(above)
	}
	s.drawn, s.width = s.drawn[:0], columns
	b.WriteString(wrapOff)
	for _, line := range frame {
		text := Clip(line.Text, columns-1)
		s.drawn = append(s.drawn, Width(text))
		b.WriteString(s.shade(line.Mood, text))
		b.WriteString(eraseLine + "\n")
	}
	b.WriteString(wrapOn + eraseBelow + cursorOn)
	_, err := io.WriteString(s.w, b.String())
	return err
}

// Forget lets the next frame begin where the cursor is, at the beginning of a
// line: somebody else has written since the last one.
func (s *Screen) Forget() { s.drawn = nil }

// height is how many rows the frame that is there takes by now: a terminal that
// became narrower has broken its lines.
func (s *Screen) height(columns, rows int) int {
	height := 0
	for _, drawn := range s.drawn {
		height += max(1, (drawn+columns-1)/max(1, columns))
	}
	return min(height, rows-1)
}

func (s *Screen) shade(mood Mood, text string) string {
	if !s.colour || mood == Neutral {
		return text
	}
	code := map[Mood]string{Bad: "31", Busy: "33", Faint: "2"}[mood]
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
