// Package vt emulates as much of a terminal as tests need: a screen of fixed
// size, the lines that scrolled out of it, and the control sequences that
// package terminal writes. Any other sequence is an error.
//
//	screen := vt.New(80, 24)
//	fmt.Fprint(screen, "hello")
//	screen.Text() // "hello"
package vt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Terminal is an emulated terminal.
type Terminal struct {
	columns, rows int
	lines         [][]Cell // all lines, including scrolled-out ones
	top           int      // index of the screen's first line
	row, column   int      // of the cursor, within the screen
	noWrap        bool
	hidden        bool
	style         string // of the next characters
	rest          string // start of an incomplete sequence
}

// Cell is a character, and its colour: the argument of ECMA-48's SGR, "38;5;28"; "" for the
// terminal's own.
type Cell struct {
	Rune  rune
	Style string
}

// New returns an empty terminal.
func New(columns, rows int) *Terminal {
	return &Terminal{columns: columns, rows: rows, lines: [][]Cell{nil}}
}

// Write processes a program's output.
func (t *Terminal) Write(p []byte) (int, error) {
	text := t.rest + string(p)
	t.rest = ""
	for text != "" {
		if text[0] != 0x1b {
			next := strings.IndexByte(text, 0x1b)
			if next < 0 {
				next = len(text)
			}
			for _, r := range text[:next] {
				t.put(r)
			}
			text = text[next:]
			continue
		}
		match := sequence().FindStringSubmatch(text)
		if match == nil {
			t.rest = text
			break
		}
		if err := t.control(match[1], match[2]); err != nil {
			return 0, err
		}
		text = text[len(match[0]):]
	}
	return len(p), nil
}

func sequence() *regexp.Regexp { return regexp.MustCompile(`^\x1b\[([0-9;?]*)([A-Za-z])`) }

func (t *Terminal) control(argument, final string) error {
	switch final + argument {
	case "K":
		line := t.line()
		*line = (*line)[:min(t.column, len(*line))]
	case "J":
		line := t.line()
		*line = (*line)[:min(t.column, len(*line))]
		t.lines = t.lines[:t.top+t.row+1]
	case "l?7", "h?7":
		t.noWrap = final == "l"
	case "l?25", "h?25":
		t.hidden = final == "l"
	default:
		return t.move(argument, final)
	}
	return nil
}

func (t *Terminal) move(argument, final string) error {
	switch final {
	case "m":
		t.style = strings.TrimLeft(argument, "0")
		return nil
	case "A":
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		t.row = max(0, t.row-n)
		return nil
	}
	return fmt.Errorf("unknown control sequence %q", argument+final)
}

func (t *Terminal) put(r rune) {
	switch r {
	case '\n': // the terminal driver converts it to carriage return and line feed
		t.column = 0
		t.down()
		return
	case '\r':
		t.column = 0
		return
	}
	if t.column == t.columns {
		if t.noWrap {
			return
		}
		t.column = 0
		t.down()
	}
	line := t.line()
	for len(*line) <= t.column {
		*line = append(*line, Cell{Rune: ' '})
	}
	(*line)[t.column] = Cell{r, t.style}
	t.column++
}

func (t *Terminal) down() {
	if t.row++; t.row == t.rows {
		t.row--
		t.top++
	}
	t.line()
}

func (t *Terminal) line() *[]Cell {
	for len(t.lines) <= t.top+t.row {
		t.lines = append(t.lines, nil)
	}
	return &t.lines[t.top+t.row]
}

// Text returns all visible text, including scrolled-out lines, without trailing spaces and
// empty lines.
func (t *Terminal) Text() string {
	var out []string
	for _, line := range t.lines {
		var text strings.Builder
		for _, c := range line {
			text.WriteRune(c.Rune)
		}
		out = append(out, strings.TrimRight(text.String(), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// Screen returns the lines on the screen.
func (t *Terminal) Screen() [][]Cell {
	var out [][]Cell
	for _, line := range t.lines[t.top:] {
		out = append(out, slices.Clone(line))
	}
	return out
}

// Sane reports whether the terminal is in its normal state: lines wrap, the
// cursor is visible and at the start of a line, and no sequence is incomplete.
func (t *Terminal) Sane() bool {
	return !t.noWrap && !t.hidden && t.column == 0 && t.rest == ""
}
