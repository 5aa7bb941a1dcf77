package status

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/state/history"
)

// revisionColumn is a column of the table of revisions.
type revisionColumn struct {
	title        string
	dropPriority int // columns with higher numbers are left out first on a narrow terminal; 0: never
	cell         func(history.Entry) string
}

// revisionColumns returns all columns. AGE is only for people, who see it while it is true.
func revisionColumns(now time.Time) []revisionColumn {
	return []revisionColumn{
		{"REVISION", 0, func(e history.Entry) string { return strconv.Itoa(e.Number) }},
		{"CREATED", 0, func(e history.Entry) string { return e.Created.Format(time.RFC3339) }},
		{"AGE", priorityOfAge, func(e history.Entry) string { return duration.HumanDuration(now.Sub(e.Created)) }},
		{"STATUS", 0, func(e history.Entry) string { return string(e.Status) }},
		{"DURATION", 1, func(e history.Entry) string { return orDash(took(e.Seconds)) }},
		{"RESOURCES", 2, func(e history.Entry) string { return strconv.Itoa(e.Resources) }},
		{"LAYERS", 4, func(e history.Entry) string { return strconv.Itoa(e.Layers) }},
		{"WAVES", 3, func(e history.Entry) string { return strconv.Itoa(e.Waves) }},
		{"WHO", 0, func(e history.Entry) string { return orDash(shortUser(e.User)) }},
		{"COMMIT", 0, func(e history.Entry) string { return orDash(e.Commit[:min(len(e.Commit), shortHash)]) }},
		{"MESSAGE", 0, func(e history.Entry) string { return orDash(plain.OneLine(e.Message)) }},
		{"DESCRIPTION", 0, func(e history.Entry) string { return orDash(plain.OneLine(e.Description)) }},
	}
}

// priorityOfAge is the priority of the column that is left out first.
const priorityOfAge = 5

// shortHash is how many characters of a commit are shown, as in git log --oneline.
const shortHash = 8

// shortUser returns the name of an account without the prefix of a ServiceAccount, cut
// to a few characters.
func shortUser(user string) string {
	return plain.Clip(plain.OneLine(strings.TrimPrefix(user, "system:serviceaccount:")), 24)
}

// took formats a number of seconds: to a hundredth below ten seconds, else to the
// second; "" for 0.
func took(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d == 0:
		return ""
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// printRevisions prints a line for each revision, oldest first. On a terminal, columns are left out
// so that they fit, and texts are below their line.
func printRevisions(out io.Writer, entries []history.Entry) error {
	width := 0
	if file := files.FileOf(out); file != nil {
		width, _, _ = term.GetSize(int(file.Fd())) // fails if it is no terminal
	}
	_, err := io.WriteString(out, revisionTable(entries, width, time.Now()))
	return err
}

// revisionTable returns the table for a terminal of this width; 0 means no limit. The message and the
// description are never left out: if a line with them is too long, they are below their lines.
func revisionTable(entries []history.Entry, width int, now time.Time) string {
	columns := revisionColumns(now)
	drop := func(priority int) {
		columns = slices.DeleteFunc(columns, func(c revisionColumn) bool { return c.dropPriority == priority })
	}
	fits := func() bool { return width > 0 && widestLine(layOut(entries, columns)) <= width }
	var below []revisionColumn
	if !fits() {
		drop(priorityOfAge)
	}
	if width > 0 && !fits() {
		columns = revisionColumns(now)
		below, columns = columns[len(columns)-2:], columns[:len(columns)-2]
		for priority := priorityOfAge; priority > 0 && !fits(); priority-- {
			drop(priority)
		}
	}
	var text strings.Builder
	n := -1 // the title
	for line := range strings.Lines(layOut(entries, columns)) {
		line = strings.TrimRight(line, " \n")
		if width > 0 {
			line = terminal.Clip(line, width)
		}
		text.WriteString(line + "\n")
		for _, c := range below {
			if n >= 0 && c.cell(entries[n]) != "-" {
				words := strings.Fields(plain.Line(strings.ToLower(c.title) + ": " + c.cell(entries[n])))
				text.WriteString(strings.Join(terminal.Wrap(words, width, "    ", "      "), "\n") + "\n")
			}
		}
		n++
	}
	return text.String()
}

// layOut returns the table with some columns, at its full width.
func layOut(entries []history.Entry, columns []revisionColumn) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i := -1; i < len(entries); i++ {
		for n, c := range columns {
			text := c.title
			if i >= 0 {
				text = c.cell(entries[i])
			}
			if n > 0 {
				plain.Fprintf(w, "\t")
			}
			plain.Fprintf(w, "%s", text)
		}
		plain.Fprintf(w, "\n")
	}
	_ = w.Flush() // a Builder returns no error
	return text.String()
}

// widestLine returns the width of the widest line.
func widestLine(table string) int {
	width := 0
	for line := range strings.Lines(table) {
		width = max(width, terminal.Width(strings.TrimRight(line, " \n")))
	}
	return width
}
