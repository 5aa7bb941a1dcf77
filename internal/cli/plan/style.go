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
	All     bool // also what would not change
	columns int  // at which reasons are wrapped; 0: nowhere
	painter terminal.Painter
}

// StyleFor returns the style for standard output: on a terminal with colours, and with reasons
// wrapped at its width.
func StyleFor(c *console.Console, all bool) Style {
	how := Style{All: all}
	file := files.FileOf(c.Out)
	if file == nil {
		return how
	}
	how.painter = terminal.NewPainter(file)
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil { // fails if it is no terminal
		how.columns = columns
	}
	return how
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

// title returns the line of a wave.
func (how Style) title(text string) string {
	return how.painter.Paint(terminal.Bold, plain.Line(text)) + "\n"
}

// row returns the lines of a resource: the action, its name, and the reason for its wave next to
// the name or below it.
func (how Style) row(action string, colour terminal.Colour, name string, why ordering.Reason) string {
	reason, at := "", terminal.Width(action+name)+2
	if why.Says() {
		reason = plain.Line(why.String())
	}
	lead := how.painter.Paint(colour, action) + name
	switch {
	case reason == "":
		return strings.TrimRight(lead, " ") + "\n"
	case how.columns == 0 || at+terminal.Width(reason) <= how.columns:
		return lead + "  " + reason + "\n"
	case how.columns-at >= leastReason:
		return lead + how.wrapped(reason, strings.Repeat(" ", at))[at-2:]
	}
	return strings.TrimRight(lead, " ") + "\n" + how.wrapped(reason, detailIndent)
}

// wrapped returns a text in indented lines.
func (how Style) wrapped(text, indent string) string {
	return strings.Join(terminal.Wrap(strings.Fields(text), how.columns, indent, indent), "\n") + "\n"
}

// actionColour returns the colour of an action.
func actionColour(action preview.Action) terminal.Colour {
	switch action {
	case preview.ActionCreate:
		return terminal.Green
	case preview.ActionUpdate, preview.ActionAdopt:
		return terminal.Bold
	case preview.ActionRecreate, preview.ActionPrune, preview.ActionError:
		return terminal.Red
	}
	return ""
}

// changeColour returns the colour of a changed field.
func changeColour(kind diff.Kind) terminal.Colour {
	switch kind {
	case diff.Added:
		return terminal.Green
	case diff.Removed:
		return terminal.Red
	}
	return ""
}
