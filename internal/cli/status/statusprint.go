package status

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// title returns the heading of the table.
func (s *setStatus) title() string {
	id := plain.Line(s.Set.String())
	if s.Revision == nil {
		return fmt.Sprintf("apply set %s, without a revision", id)
	}
	return fmt.Sprintf("apply set %s, revision %d, %s, created %s", id, s.Revision.Number, s.Revision.Status, s.Revision.Created.Format(time.RFC3339))
}

// print prints a table with a line for each section and, if it is not healthy,
// its worst member with the reason.
func (s *setStatus) print(out io.Writer) error {
	var table, text strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	plain.Fprintf(w, "LAYER\tREADY\tHEALTH\tWORST\n")
	for _, section := range s.Sections {
		section.writeRow(w)
	}
	section{Name: "all", Members: s.members()}.writeCounts(w, "")
	if err := w.Flush(); err != nil {
		return err
	}
	plain.Fprintln(&text, s.title())
	for line := range strings.Lines(table.String()) {
		plain.Fprintln(&text, strings.TrimRight(line, " \n"))
	}
	if (s.failed() || s.pending()) && s.Outcome != "" {
		plain.Fprintf(&text, "%s\n", plain.OneLine(s.Outcome))
	}
	for _, note := range s.Notes {
		plain.Fprintf(&text, "note: %s\n", note)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// writeRow writes a section as a line of the table.
func (s section) writeRow(w io.Writer) {
	text := ""
	if m, others, bad := worstMember(s.Members); bad && !s.IsStack {
		text = m.words()
		if others > 0 {
			text += fmt.Sprintf(" (and %d more)", others)
		}
	}
	s.writeCounts(w, text)
}

// writeCounts writes the cells of a section, and last as the last one.
func (s section) writeCounts(w io.Writer, last string) {
	name := s.Name
	if s.Stack != "" {
		name = "  " + name
	}
	plain.Fprintf(w, "%s\t%d/%d\t%s\t%s\n", name, ready(s.Members), len(s.Members), grade(s.Members), last)
}

// words describes a member and its verdict.
func (m member) words() string {
	text := fmt.Sprintf("%s: %s", m.ID, Word(m.Verdict, m.grade()))
	if m.Reason != "" && m.Verdict != health.Ready {
		text += ": " + plain.OneLine(m.Reason)
	}
	return plain.Line(text)
}

// Word returns the word for a verdict and a grade: the verdict's, unless the
// grade is more specific.
func Word(verdict health.Verdict, grade health.Grade) string {
	switch grade {
	case verdict.Grade(), health.GradeUnset, health.GradeHealthy:
		return verdict.String()
	}
	if verdict == health.Ready { // suspended by its manifest
		return verdict.String() + ", " + strings.ToLower(grade.String())
	}
	return strings.ToLower(grade.String())
}

// Document is the status of a set as JSON.
type Document struct {
	Set      object.ID      `json:"applyset"`
	Revision int            `json:"revision,omitempty"`
	Status   history.Status `json:"status,omitempty"`
	Created  time.Time      `json:"created,omitzero"`      // when the revision was stored
	User     string         `json:"user,omitempty"`        // the account that stored it; "" if unknown
	Deployed time.Time      `json:"deployed,omitzero"`     // when the run that deployed the revision ended
	Outcome  string         `json:"description,omitempty"` // how the run of the revision ended
	Health   string         `json:"health"`
	Ready    int            `json:"ready"`
	Total    int            `json:"total"`
	Sections []sectionJSON  `json:"layers"`
	Notes    []string       `json:"notes,omitempty"`
}

type sectionJSON struct {
	Name    string       `json:"name"`
	Stack   string       `json:"stack,omitempty"` // of an application
	IsStack bool         `json:"isStack,omitempty"`
	Health  string       `json:"health"`
	Ready   int          `json:"ready"`
	Total   int          `json:"total"`
	Members []memberJSON `json:"resources,omitempty"` // empty for stacks: members are listed at its applications
}

type memberJSON struct {
	object.ID
	Verdict string `json:"verdict"`
	Health  string `json:"health"`
	Assumed bool   `json:"assumed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Rule    string `json:"rule,omitempty"`
}

func (s *setStatus) inJSON() Document {
	all := s.members()
	out := Document{Set: s.Set, Health: grade(all).String(), Ready: ready(all), Total: len(all), Sections: []sectionJSON{}, Notes: s.Notes}
	if s.Revision != nil {
		out.Revision, out.Status, out.Deployed, out.Outcome = s.Revision.Number, s.Revision.Status, s.Deployed, s.Outcome
		out.Created, out.User = s.Revision.Created, s.Revision.User
	}
	for _, section := range s.Sections {
		row := sectionJSON{
			Name: section.Name, Stack: section.Stack, IsStack: section.IsStack,
			Health: grade(section.Members).String(), Ready: ready(section.Members), Total: len(section.Members),
		}
		for _, m := range section.Members {
			if !section.IsStack {
				row.Members = append(row.Members, m.inJSON())
			}
		}
		out.Sections = append(out.Sections, row)
	}
	return out
}

// Unready describes the first member that is not ready, and counts the others; "" if all
// are.
func (d Document) Unready() string {
	for _, section := range d.Sections {
		for _, m := range section.Members {
			if m.Verdict == health.Ready.String() {
				continue
			}
			id := object.ID{Group: m.Group, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
			text := fmt.Sprintf("%s is %s", id, strings.ToLower(m.Health))
			if m.Reason != "" {
				text += ": " + plain.OneLine(m.Reason)
			}
			if others := d.Total - d.Ready - 1; others > 0 {
				text += fmt.Sprintf(" (and %d more)", others)
			}
			return text
		}
	}
	return ""
}

func (m member) inJSON() memberJSON {
	return memberJSON{m.ID, m.Verdict.String(), m.grade().String(), m.Assumed, m.Reason, m.Rule}
}
