package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/terminal"
)

// lookEvery is how often status --watch looks.
const lookEvery = 2 * time.Second

// watchEnded is the end of a verb that goes on until it is interrupted. There is
// nothing to say of it.
type watchEnded struct{}

func (watchEnded) Error() string { return "" }

func (watchEnded) Is(target error) bool { return target == apply.ErrInterrupted }

// follow tells how a set does until ctx is done. That it cannot be read for a
// while is told, and ends nothing; that it cannot be read at first does.
func (f *statusFlags) follow(cmd *cobra.Command, o *observer) error {
	show := f.shower(cmd)
	ctx := cmd.Context()
	for first := true; ; first = false {
		now, err := o.observe(ctx)
		switch {
		case ctx.Err() != nil:
			return watchEnded{}
		case err != nil && first:
			return err
		case err != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "%s; trying again\n", terminal.Plain(err.Error()))
		default:
			if err := show(now); err != nil {
				return err
			}
		}
		if !pause(ctx, lookEvery) {
			return watchEnded{}
		}
	}
}

// pause waits, and tells whether it was left to.
func pause(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// shower shows a set to whoever reads: a table that is drawn anew on a terminal,
// what changes elsewhere.
func (f *statusFlags) shower(cmd *cobra.Command) func(*standing) error {
	out := cmd.OutOrStdout()
	if f.output == "json" {
		return onChange(out, func(w io.Writer, now, _ *standing) error { return writeJSON(w, now.inJSON()) })
	}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		screen := terminal.NewScreen(file, os.Getenv("NO_COLOR") == "")
		return func(now *standing) error { return now.draw(screen, file) }
	}
	return onChange(out, printChanges)
}

// onChange shows a set at first and whenever it is not as it was, each time with
// one write.
func onChange(out io.Writer, show func(w io.Writer, now, before *standing) error) func(*standing) error {
	var before *standing
	var said []byte
	return func(now *standing) error {
		var as, text bytes.Buffer
		if err := writeJSON(&as, now.inJSON()); err != nil || bytes.Equal(as.Bytes(), said) {
			return err
		}
		if err := show(&text, now, before); err != nil {
			return err
		}
		before, said = now, as.Bytes()
		_, err := out.Write(text.Bytes())
		return err
	}
}

// printChanges prints the table at first, and then a line for each member and
// each section that is not as it was.
func printChanges(w io.Writer, now, before *standing) error {
	if before == nil {
		return now.print(w)
	}
	if now.title() != before.title() {
		fmt.Fprintln(w, now.title())
	}
	was, is := before.verdicts(), now.verdicts()
	for _, m := range now.members() {
		if old, ok := was[m.ID]; !ok || old.Verdict != m.Verdict || old.Reason != m.Reason {
			fmt.Fprintln(w, m.words())
		}
	}
	for _, m := range before.members() {
		if _, ok := is[m.ID]; !ok {
			fmt.Fprintln(w, terminal.Plain(m.ID.String())+": gone")
		}
	}
	for _, s := range now.Sections {
		at := slices.IndexFunc(before.Sections, func(old section) bool { return old.Name == s.Name })
		if at < 0 || grade(before.Sections[at].Members) != grade(s.Members) {
			fmt.Fprintf(w, "%s: %s, %d/%d ready\n", terminal.Plain(s.Name), grade(s.Members), ready(s.Members), len(s.Members))
		}
	}
	return nil
}

// draw draws the table in the place of the last one.
func (s *standing) draw(screen *terminal.Screen, on *os.File) error {
	columns, rows, err := term.GetSize(int(on.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		columns, rows = 80, 24
	}
	var text strings.Builder
	if err := s.print(&text); err != nil {
		return err
	}
	var lines []terminal.Line
	for line := range strings.Lines(text.String()) {
		lines = append(lines, terminal.Line{Text: strings.TrimRight(line, "\n"), Mood: terminal.Neutral})
	}
	for i, section := range s.Sections {
		lines[i+2].Mood = mood(grade(section.Members))
	}
	if room := rows - 1; len(lines) > room && room > 0 {
		more := len(lines) - room + 1
		lines = append(lines[:room-1], terminal.Line{Text: fmt.Sprintf("… %d more lines", more), Mood: terminal.Faint})
	}
	return screen.Draw("", lines, columns, rows)
}

func mood(g health.Grade) terminal.Mood {
	switch g {
	case health.Healthy:
		return terminal.Neutral
	case health.Underway:
		return terminal.Busy
	}
	return terminal.Bad
}
