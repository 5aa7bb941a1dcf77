// Package vt is as much of a terminal as tests need to see what a program drew:
// a screen of fixed size, what scrolled out of it, and the control sequences
// that package terminal writes. Any other sequence is an error.
package vt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Terminal is what a program writes to.
type Terminal struct {
	columns, rows int
	lines         [][]rune // all of them, those that scrolled out first
	top           int      // index of the screen's first line
	row, column   int      // of the cursor, within the screen
	noWrap        bool
	hidden        bool
	rest          string // the beginning of a sequence
}

// New is an empty terminal.
func New(columns, rows int) *Terminal {
	return &Terminal{columns: columns, rows: rows, lines: [][]rune{nil}}
}

// Write shows what a program wrote.
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
	case '\n': // the terminal's driver makes it carriage return and line feed
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
		*line = append(*line, ' ')
	}
	(*line)[t.column] = r
	t.column++
}

func (t *Terminal) down() {
	if t.row++; t.row == t.rows {
		t.row--
		t.top++
	}
	t.line()
}

func (t *Terminal) line() *[]rune {
	for len(t.lines) <= t.top+t.row {
		t.lines = append(t.lines, nil)
	}
	return &t.lines[t.top+t.row]
}

// Text is all that can be seen, what scrolled out included, without spaces at
// the ends of lines and empty lines at the end.
func (t *Terminal) Text() string {
	var out []string
	for _, line := range t.lines {
		out = append(out, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// Sane tells whether the terminal is left as a shell wants it: lines wrap, the
// cursor can be seen and stands at the beginning of a line, nothing is pending.
func (t *Terminal) Sane() bool {
	return !t.noWrap && !t.hidden && t.column == 0 && t.rest == ""
}
