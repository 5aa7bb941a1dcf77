package plan

import (
	"strings"

	"golang.org/x/term"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/diff"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/ordering"
)

// Style is how the text of a plan is printed.
type Style struct {
	All     bool                       // also the resources that would not change
	columns int                        // at which reasons are wrapped; 0: nowhere
	shade   func(terminal.Line) string // colours a line; nil: as it is
}

// StyleFor returns the style for standard output: on a terminal with colours, and with reasons
// wrapped at its width.
func StyleFor(c *console.Console, all bool) Style {
	how := Style{All: all}
	file := files.FileOf(c.Out)
	if file == nil {
		return how
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil { // it is no terminal
		return how
	}
	how.columns = columns
	how.shade = terminal.Shader(file)
	return how
}

// in returns a text in the colour of a mood.
func (how Style) in(mood terminal.Mood, text string) string {
	if how.shade == nil {
		return text
	}
	return how.shade(terminal.Line{Text: text, Mood: mood})
}

// detailIndent is the indentation of the lines below a resource.
const detailIndent = "             "

// nameWidth returns the width of the column of names, given the longest.
func (how Style) nameWidth(longest int) int {
	widest := 60
	if how.columns > 0 {
		widest = min(widest, max(0, how.columns-len(detailIndent)-2-leastReason))
	}
	return min(longest, widest)
}

// leastReason is the width below which a reason begins on a line of its own.
const leastReason = 24

// row returns the lines of a resource: the action, its name in a column of a width, and the
// reason for its wave. On a terminal the reason has a column too: a longer name stands above it.
func (how Style) row(action string, mood terminal.Mood, width int, name string, why ordering.Reason) string {
	lead, reason := how.in(mood, action)+plain.Line(name), ""
	if why.Says() {
		reason = plain.Line(why.String())
	}
	at, gap := terminal.Width(action)+width+2, width-terminal.Width(plain.Line(name))
	beside := lead + strings.Repeat(" ", max(0, gap)+2)
	indent := strings.Repeat(" ", at)
	if how.columns-at < leastReason {
		indent = detailIndent
	}
	switch {
	case reason == "":
		return lead + "\n"
	case how.columns == 0 || gap >= 0 && at+terminal.Width(reason) <= how.columns:
		return beside + reason + "\n"
	case gap < 0 || how.columns-at < leastReason:
		return lead + "\n" + how.wrapped(reason, indent)
	}
	return beside + how.wrapped(reason, indent)[at:]
}

// wrapped returns a text in indented lines.
func (how Style) wrapped(text, indent string) string {
	return strings.Join(terminal.Wrap(strings.Fields(text), how.columns, indent, indent), "\n") + "\n"
}

// actionMood returns the mood of an action.
func actionMood(action preview.Action) terminal.Mood {
	switch action {
	case preview.ActionCreate:
		return terminal.Good
	case preview.ActionUpdate, preview.ActionAdopt:
		return terminal.Busy
	case preview.ActionRecreate, preview.ActionPrune, preview.ActionError:
		return terminal.Bad
	}
	return terminal.Neutral
}

// changeMood returns the mood of a changed field.
func changeMood(kind diff.Kind) terminal.Mood {
	switch kind {
	case diff.Added:
		return terminal.Good
	case diff.Removed:
		return terminal.Bad
	}
	return terminal.Neutral
}
