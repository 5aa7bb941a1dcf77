package status

import (
	"bytes"
	"io"
	"slices"

	"golang.org/x/term"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/terminal"
)

// renderer displays the status of a set. All methods are called from one
// goroutine.
type renderer interface {
	// show displays the status if it has changed.
	show(*setStatus) error
	// trouble displays why the set cannot be read; nil means that it can be
	// read again.
	trouble(error) error
	// redraws returns functions to call on other events, such as a resize.
	redraws() <-chan func() error
}

// newRenderer returns a display that redraws a table on a terminal, and prints
// changes elsewhere.
func newRenderer(c *console.Console, output string) (show renderer, end func()) {
	out := c.Out
	if output == "json" {
		return &statusLines{out: out, errs: c.Err, print: func(w io.Writer, now, _ *setStatus) error { return WriteJSON(w, now.inJSON()) }}, func() {}
	}
	if file := files.FileOf(out); file != nil && term.IsTerminal(int(file.Fd())) && terminal.MayDraw() {
		t := newStatusTable(file)
		c.ReportSlow(t.printAbove)
		return t, t.end
	}
	return &statusLines{out: out, errs: c.Err, print: printChanges}, func() {}
}

// statusLines prints the status at first and on every change, with one write
// each.
type statusLines struct {
	out, errs io.Writer
	print     func(w io.Writer, now, before *setStatus) error
	before    *setStatus
	printed   []byte // JSON of the status printed last
	lastError string
}

func (c *statusLines) show(now *setStatus) error {
	var as, text bytes.Buffer
	if err := WriteJSON(&as, now.inJSON()); err != nil || bytes.Equal(as.Bytes(), c.printed) {
		return err
	}
	if err := c.print(&text, now, c.before); err != nil {
		return err
	}
	c.before, c.printed = now, as.Bytes()
	_, err := c.out.Write(text.Bytes())
	return err
}

// trouble prints repeated errors only once.
func (c *statusLines) trouble(err error) error {
	text := ""
	switch {
	case err == nil:
		plain.Fprintln(c.errs, "the apply set can be read again")
	case err.Error() != c.lastError:
		text = err.Error()
		plain.Fprintf(c.errs, "%s; trying again\n", text)
	default:
		text = c.lastError
	}
	c.lastError = text
	return nil
}

func (c *statusLines) redraws() <-chan func() error { return nil }

// printChanges prints the table at first, and then a line for each member and
// section that changed.
func printChanges(w io.Writer, now, before *setStatus) error {
	if before == nil {
		return now.print(w)
	}
	if now.title() != before.title() {
		plain.Fprintln(w, now.title())
	}
	was, is := before.verdicts(), now.verdicts()
	for _, m := range now.members() {
		if old, ok := was[m.ID]; !ok || old.Verdict != m.Verdict || old.Reason != m.Reason {
			plain.Fprintln(w, m.words())
		}
	}
	for _, m := range before.members() {
		if _, ok := is[m.ID]; !ok {
			plain.Fprintln(w, m.ID.String()+": gone")
		}
	}
	for _, s := range now.Sections {
		at := slices.IndexFunc(before.Sections, func(old section) bool { return old.Name == s.Name })
		if at < 0 || grade(before.Sections[at].Members) != grade(s.Members) {
			plain.Fprintf(w, "%s: %s, %d/%d ready\n", s.Name, grade(s.Members), ready(s.Members), len(s.Members))
		}
	}
	for _, note := range now.Notes {
		if !slices.Contains(before.Notes, note) {
			plain.Fprintf(w, "note: %s\n", note)
		}
	}
	return nil
}
