package plan

import (
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// Marker is the first line of a plan in Markdown, by which a job finds the comment that
// it wrote before.
const Marker = "<!-- ordapply plan -->"

// CommentSize is the default size of a comment, in bytes: GitHub takes 65,536 characters.
const CommentSize = 65_000

// MinCommentSize is the least size of a comment.
const MinCommentSize = 1_000

// Limits of text from elsewhere, in characters.
const (
	textWidth = 260 // a name has at most 253
	lineWidth = 400 // of a diff or an error
)

// comment is a plan in Markdown. Text from the stream and the cluster is either HTML in a
// code element or in a fenced block, so that it can neither end its block nor mention people.
type comment struct {
	size    int  // in bytes, at most
	marked  bool // begins with Marker
	head    string
	entries []entry
	notes   string // foreign
}

// entry is a resource that would change.
type entry struct {
	id      object.ID
	first   bool   // before the entries that are not
	heading string // HTML, above the first of the entries that have it
	summary string // HTML, one line
	details string // Markdown; "" without any
	size    int    // of the diff, in bytes; 0 if details are something else
	open    bool   // the details are not folded
	shown   bool   // the details are part of the comment
}

// write prints the comment: a line for each entry comes before any details, so that no large
// resource hides another. Lines that do not fit are counted by kind, and details say so.
func (c *comment) write(w io.Writer) error {
	slices.SortStableFunc(c.entries, func(a, b entry) int {
		switch {
		case a.first == b.first:
			return 0
		case a.first:
			return -1
		}
		return 1
	})
	forNotes := c.size / 16 // and for the number of resources that are not listed
	listed, left := c.fitLines(c.size - forNotes - len(Marker) - len(c.head))
	c.fitDetails(listed, left)
	var b strings.Builder
	if c.marked {
		b.WriteString(Marker + "\n")
	}
	b.WriteString(c.head)
	for i := range listed {
		b.WriteString(c.text(i))
	}
	if rest := c.entries[listed:]; len(rest) > 0 {
		b.WriteString(htmlLine("p", "Not listed, because the comment would be too large: ", countKinds(rest)))
	}
	b.WriteString(fenced("", cutLines(c.notes, (c.size-b.Len())/2)))
	_, err := io.WriteString(w, b.String())
	return err
}

// fitLines returns how many entries fit into left bytes without their details, and how many
// bytes are left then.
func (c *comment) fitLines(left int) (listed, rest int) {
	for i := range c.entries {
		size := len(c.text(i))
		if size > left {
			return i, left
		}
		left -= size
	}
	return len(c.entries), left
}

// fitDetails shows the details of entries as far as they fit into left bytes.
func (c *comment) fitDetails(listed, left int) {
	for i := range listed {
		without := len(c.text(i))
		c.entries[i].shown = true
		if more := len(c.text(i)) - without; more <= left {
			left -= more
		} else {
			c.entries[i].shown = false
		}
	}
}

// text returns an entry, with its heading if it is the first that has it.
func (c *comment) text(i int) string {
	one := c.entries[i]
	heading := one.heading
	if i > 0 && c.entries[i-1].heading == heading {
		heading = ""
	}
	switch {
	case one.details == "":
		return heading + "<p>" + one.summary + "</p>\n\n"
	case !one.shown && one.size > 0:
		return heading + "<p>" + one.summary + ", diff of " + sizeText(one.size) + " not shown</p>\n\n"
	case !one.shown:
		return heading + "<p>" + one.summary + ", details not shown</p>\n\n"
	case one.open:
		return heading + "<details open><summary>" + one.summary + "</summary>\n\n" + one.details + "</details>\n\n"
	}
	return heading + "<details><summary>" + one.summary + "</summary>\n\n" + one.details + "</details>\n\n"
}

func sizeText(size int) string {
	switch {
	case size < 1_000:
		return plain.Count(size, "byte")
	case size < 10_000:
		return fmt.Sprintf("%.1f KB", float64(size)/1_000)
	}
	return fmt.Sprintf("%d KB", size/1_000)
}

// countKinds returns the number of entries by kind, in the order of their first entries.
func countKinds(entries []entry) string {
	counts, at := map[string]int{}, map[string]int{}
	for i, one := range entries {
		kind := plain.Clip(one.id.GroupKind(), textWidth)
		if counts[kind]++; counts[kind] == 1 {
			at[kind] = i
		}
	}
	kinds := slices.SortedFunc(maps.Keys(at), func(a, b string) int { return at[a] - at[b] })
	return strings.Join(plain.Sample(kinds, 20, "and %d more kinds", func(kind string) string { return fmt.Sprint(counts[kind], " ", kind) }), ", ")
}

// cutLines returns as many of the lines of a text as have at most size bytes.
func cutLines(text string, size int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = cutLine(line); b.Len()+len(line) > size {
			return b.String() + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// cutLine cuts a long line, and says so.
func cutLine(line string) string {
	body := strings.TrimSuffix(line, "\n")
	if more := utf8.RuneCountInString(body) - lineWidth; more > 0 {
		return plain.Clip(body, lineWidth) + plain.Sprintf(" (%s)\n", plain.Count(more, "more character"))
	}
	return line
}

// fenced returns text, with long lines cut, as a code block whose fence is longer than any in
// it; "" without text.
func fenced(language, text string) string {
	if text == "" {
		return ""
	}
	var lines strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		lines.WriteString(cutLine(line))
	}
	text = string(plain.Lines([]byte(lines.String())))
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n\n"
}

// htmlLine returns one HTML element with foreign text in a code element.
func htmlLine(element, text, foreign string) string {
	return "<" + element + ">" + text + code(foreign) + "</" + element + ">\n\n"
}

func code(text string) string { return "<code>" + escaped(text) + "</code>" }

func escaped(text string) string { return html.EscapeString(plain.Line(text)) }
