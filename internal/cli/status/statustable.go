package status

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/terminal"
)

// statusTable redraws the status of a set in place on a terminal.
type statusTable struct {
	on           *os.File
	screen       *terminal.Screen
	now          *setStatus
	fault        error // why the set cannot be read
	drawn        frame
	drawRequests chan func() error
	finished     chan struct{}
}

// frame is a drawn text, with the terminal's size.
type frame struct {
	lines         []terminal.Line
	columns, rows int
}

func newStatusTable(on *os.File) *statusTable {
	t := &statusTable{
		on: on, screen: terminal.NewScreen(on, os.Getenv("NO_COLOR") == ""),
		drawRequests: make(chan func() error), finished: make(chan struct{}),
	}
	go t.listen()
	return t
}

// end stops listening and redraws the table over anything that the terminal
// echoed.
func (t *statusTable) end() {
	close(t.finished)
	if len(t.drawn.lines) > 0 {
		_ = t.screen.Draw("", t.drawn.lines, t.drawn.columns, t.drawn.rows)
	}
}

func (t *statusTable) show(now *setStatus) error {
	t.now = now
	return t.draw()
}

func (t *statusTable) trouble(err error) error {
	t.fault = err
	return t.draw()
}

func (t *statusTable) redraws() <-chan func() error { return t.drawRequests }

// listen redraws the table when the terminal is resized, and below the shell's
// output when the process continues after a stop.
func (t *statusTable) listen() {
	stops, conts, end := terminal.Suspensions()
	defer end()
	sizes, noSizes := terminal.Resizes()
	defer noSizes()
	for {
		do := t.draw
		select {
		case <-t.finished:
			return
		case <-sizes:
		case <-conts:
			do = t.drawBelow
		case <-stops:
			do = func() error {
				_ = t.screen.Draw("", nil, t.drawn.columns, t.drawn.rows)
				terminal.Suspend(conts)
				return t.drawBelow()
			}
		}
		done := make(chan struct{}) // until then the follower draws nothing and the process is not stopped
		select {
		case t.drawRequests <- func() error { defer close(done); return do() }:
			<-done
		case <-t.finished:
			return
		}
	}
}

// printAbove prints a line above the table, which stays. It is called from other
// goroutines.
func (t *statusTable) printAbove(text string) {
	select {
	case t.drawRequests <- func() error {
		return t.screen.Draw(plain.Line(text)+"\n", t.drawn.lines, t.drawn.columns, t.drawn.rows)
	}:
	case <-t.finished:
	}
}

// drawBelow draws the table at the cursor.
func (t *statusTable) drawBelow() error {
	t.screen.Forget()
	t.drawn = frame{}
	return t.draw()
}

// draw draws the table unless it is unchanged.
func (t *statusTable) draw() error {
	if t.now == nil {
		return nil
	}
	columns, rows, err := term.GetSize(int(t.on.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		columns, rows = 80, 24
	}
	next := frame{t.now.lines(t.fault, columns-1, rows-1), columns, rows}
	if slices.Equal(next.lines, t.drawn.lines) && next.columns == t.drawn.columns && next.rows == t.drawn.rows {
		return nil
	}
	t.drawn = next
	return t.screen.Draw("", next.lines, columns, rows)
}

// lines returns the table for a number of columns and rows. Title and notes are
// wrapped, other lines are cut.
func (s *setStatus) lines(fault error, columns, rows int) []terminal.Line {
	var text strings.Builder
	_ = s.print(&text)
	var lines []terminal.Line
	at := 0 // line number in the output of print
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, "\n")
		parts, how := []string{line}, terminal.Neutral
		switch n := at - 2; {
		case at == 0, n > len(s.Sections):
			parts = wrapped(line, columns)
		case n >= 0 && n < len(s.Sections):
			how = mood(grade(s.Sections[n].Members))
		}
		at++
		for _, part := range parts {
			lines = append(lines, terminal.Line{Text: part, Mood: how})
		}
	}
	if fault != nil {
		for _, part := range wrapped("note: "+plain.Line(fault.Error())+"; trying again", columns) {
			lines = append(lines, terminal.Line{Text: part, Mood: terminal.Bad})
		}
	}
	if room := max(rows, 1); len(lines) > room {
		more := len(lines) - room + 1
		lines = append(lines[:room-1], terminal.Line{Text: fmt.Sprintf("… %d more lines", more), Mood: terminal.Faint})
	}
	return lines
}

func mood(g health.Grade) terminal.Mood {
	switch g {
	case health.GradeHealthy:
		return terminal.Good
	case health.GradeSuspended, health.GradeProgressing:
		return terminal.Busy
	}
	return terminal.Bad
}

// wrapped breaks plain text at spaces into lines of at most the given width, with
// continuation lines indented.
func wrapped(text string, columns int) []string {
	return terminal.Wrap(strings.Fields(text), columns, "", "  ")
}
