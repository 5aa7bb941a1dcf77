package main

import (
	"bytes"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ordapply/ordapply/internal/plain"
)

// shower shows a set to whoever reads. All of it is called from one goroutine.
type shower interface {
	// show shows how the set does, if that is not as it was.
	show(*standing) error
	// trouble says why the set cannot be read now; nil: it can be again.
	trouble(error) error
	// disturbances are what is to be done because of something else than the set.
	disturbances() <-chan func() error
}

// shower is a table that is drawn anew on a terminal, what changes elsewhere.
func (f *statusFlags) shower(cmd *cobra.Command) (show shower, end func()) {
	out := cmd.OutOrStdout()
	if f.output == "json" {
		return &standingLines{out: out, errs: cmd.ErrOrStderr(), print: func(w io.Writer, now, _ *standing) error { return writeJSON(w, now.inJSON()) }}, func() {}
	}
	if file := fileOf(out); file != nil && term.IsTerminal(int(file.Fd())) && mayDraw() {
		t := newStatusTable(file)
		return t, t.end
	}
	return &standingLines{out: out, errs: cmd.ErrOrStderr(), print: printChanges}, func() {}
}

// standingLines shows a set at first and whenever it is not as it was, each time with
// one write.
type standingLines struct {
	out, errs io.Writer
	print     func(w io.Writer, now, before *standing) error
	before    *standing
	said      []byte // the standing before, as a document
	troubled  string
}

func (c *standingLines) show(now *standing) error {
	var as, text bytes.Buffer
	if err := writeJSON(&as, now.inJSON()); err != nil || bytes.Equal(as.Bytes(), c.said) {
		return err
	}
	if err := c.print(&text, now, c.before); err != nil {
		return err
	}
	c.before, c.said = now, as.Bytes()
	_, err := c.out.Write(text.Bytes())
	return err
}

// trouble says the same once.
func (c *standingLines) trouble(err error) error {
	text := ""
	switch {
	case err == nil:
		plain.Fprintln(c.errs, "the apply set can be read again")
	case err.Error() != c.troubled:
		text = err.Error()
		plain.Fprintf(c.errs, "%s; trying again\n", text)
	default:
		text = c.troubled
	}
	c.troubled = text
	return nil
}

func (c *standingLines) disturbances() <-chan func() error { return nil }

// printChanges prints the table at first, and then a line for each member and
// each section that is not as it was.
func printChanges(w io.Writer, now, before *standing) error {
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
