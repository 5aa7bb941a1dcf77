package plandiff

import (
	"bytes"
	"errors"
	"html"
	"io"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/preview"
)

// Marker is the first line of a plan in Markdown, by which a job finds the comment that
// it wrote before.
const Marker = "<!-- ordapply plan -->"

// commentSize is how many bytes a plan in Markdown has at most: GitHub takes 65,536
// characters in a comment.
const commentSize = 60_000

// writeMarkdown prints the preview as a comment for a pull request: a heading for each wave,
// and below it each resource that would change, its diff folded. Text from the stream and
// the cluster is either HTML in a code element or in a fenced block, so that it can
// neither end its block nor mention people.
func (p *previewed) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(Marker + "\n")
	b.WriteString(htmlLine("h3", "Plan for ", p.target.String()))
	b.WriteString("<p>" + html.EscapeString(p.totals()) + "</p>\n\n")
	wave, left := -2, 0
	for _, row := range p.preview.Rows {
		if row.Action == preview.ActionUnchanged {
			continue
		}
		text, err := markdownRow(row)
		if err != nil {
			return err
		}
		if row.Wave != wave {
			text = htmlLine("h4", "", p.waveTitle(row.Wave)) + text
		}
		if b.Len()+len(text) > commentSize {
			left++
			continue
		}
		wave = row.Wave
		b.WriteString(text)
	}
	if left > 0 {
		b.WriteString(htmlLine("p", "Not shown, because a comment has at most 65,536 characters: ", plain.Count(left, "resource")))
	}
	b.WriteString(p.markdownNotes(commentSize + 4_000 - b.Len()))
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownNotes returns hooks and notes in a fenced block of at most size bytes.
func (p *previewed) markdownNotes(size int) string {
	var b strings.Builder
	p.plan.WriteHooks(&b)
	for _, s := range p.plan.Skipped {
		plain.Fprintf(&b, "left out: %s (%s)\n", s.ID, s.Why.Detail)
	}
	for _, note := range p.plan.Notes {
		plain.Fprintf(&b, "note: %s\n", note)
	}
	text := b.String()
	if len(text) > size/2 {
		text = strings.ToValidUTF8(text[:size/2], "") + " …\n"
	}
	return fenced("", text)
}

// markdownRow returns a resource with its folded details.
func markdownRow(row preview.Row) (string, error) {
	var text bytes.Buffer
	pair, err := pairOf(row)
	if err == nil && pair.live != pair.merged {
		err = pair.writeUnified(&text)
	}
	if err != nil {
		return "", err
	}
	var details string
	if row.Detail != "" {
		details = htmlLine("p", "", row.Detail)
	}
	if row.Err != nil {
		details += fenced("", cause(row.Err).Error()+"\n")
	}
	details += fenced("diff", string(plain.Lines(text.Bytes())))
	summary := "<b>" + string(row.Action) + "</b> " + code(row.ID.String())
	if why := row.Why.String(); why != "" {
		summary += " " + code(why)
	}
	if details == "" {
		return "<p>" + summary + "</p>\n\n", nil
	}
	open := ""
	if row.Action == preview.ActionError {
		open = " open"
	}
	return "<details" + open + "><summary>" + summary + "</summary>\n\n" + details + "</details>\n\n", nil
}

// cause returns the error of a row without the name of its resource.
func cause(err error) error {
	if failure := new(apply.Error); errors.As(err, &failure) {
		return failure.Err
	}
	return err
}

// markdownWaves prints a plan that was made without a cluster.
func markdownWaves(w io.Writer, plan *ordering.Plan) error {
	var text strings.Builder
	if err := plan.WriteText(&text); err != nil {
		return err
	}
	shown := text.String()
	if len(shown) > commentSize {
		shown = strings.ToValidUTF8(shown[:commentSize], "") + " …\n"
	}
	_, err := io.WriteString(w, Marker+"\n<h3>Plan, without a cluster</h3>\n\n"+fenced("", shown))
	return err
}

// fenced returns text as a code block whose fence is longer than any in it; "" without text.
func fenced(language, text string) string {
	if text == "" {
		return ""
	}
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + string(plain.Lines([]byte(strings.TrimSuffix(text, "\n")))) + "\n" + fence + "\n\n"
}

// htmlLine returns one HTML element with foreign text in a code element.
func htmlLine(element, text, foreign string) string {
	return "<" + element + ">" + text + code(foreign) + "</" + element + ">\n\n"
}

func code(text string) string { return "<code>" + html.EscapeString(plain.Line(text)) + "</code>" }
