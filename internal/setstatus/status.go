package setstatus

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/exit"
	"github.com/ordapply/ordapply/internal/healthfiles"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/setflags"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

// statusFlags are the flags of status.
type statusFlags struct {
	setflags.Command
	healthfiles.HealthFlags
	watch bool
	grace time.Duration
}

// NewCommand returns the command status.
func NewCommand() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show the health of an apply set, layer by layer",
		Long: `status judges the live state of every member of an apply set, and shows the health
of its layers and stacks in the order in which they were applied. A layer is
Failed if a member has failed or is unknown, else Degraded if one is missing,
degraded or being deleted, else Progressing if one is progressing, else Suspended
if one is suspended. The exit code is 0 when all are ready, 3 when the others are
only Progressing or Suspended, so that waiting may help, and 1 otherwise. NAME is
that of the set's parent Secret, or KIND/NAME.

  ordapply status shop
  ordapply status shop --watch    keep running, and show changes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.Command.Register(cmd)
	f.HealthFlags.Register(cmd.Flags())
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "keep running until interrupted: redraw the table on a terminal, elsewhere print a line per change")
	cmd.Flags().DurationVar(&f.grace, "status-grace", 15*time.Second, "maximum time to wait for a meaningful status of a custom resource before judging it without one; 0: do not wait")
	return cmd
}

func (f *statusFlags) run(cmd *cobra.Command, name string) error {
	assessor, err := f.Assessor(cmd.Context())
	if err != nil {
		return err
	}
	t, err := f.Connect(cmd.Context())
	if err != nil {
		return err
	}
	o := &observer{Target: t, name: name, assessor: assessor, grace: f.grace}
	if f.watch {
		return f.follow(cmd, o)
	}
	now, err := o.observe(cmd.Context())
	if err != nil {
		return err
	}
	if f.Output == "json" {
		err = WriteJSON(cmd.OutOrStdout(), now.inJSON())
	} else {
		err = now.print(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	return now.fault()
}

// fault returns nil if all members are ready.
func (s *setStatus) fault() error {
	members := s.members()
	if len(members) == 0 {
		return fmt.Errorf("apply set %s has no members", s.Set.Name)
	}
	if left := len(members) - ready(members); left > 0 {
		all := grade(members)
		err := fmt.Errorf("apply set %s is %s: %d of %s not ready", s.Set.Name, all, left, plain.Count(len(members), "resource"))
		if all <= health.GradeProgressing { // waiting may help
			return exit.AsTimeout(err)
		}
		return err
	}
	return nil
}

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
	text := fmt.Sprintf("%s: %s", m.ID, StatusWord(m.Verdict, m.grade()))
	if m.Reason != "" && m.Verdict != health.Ready {
		text += ": " + plain.OneLine(m.Reason)
	}
	return plain.Line(text)
}

// StatusWord returns the word for a verdict and a grade: the verdict's, unless the
// grade is more specific.
func StatusWord(verdict health.Verdict, grade health.Grade) string {
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
	Set      resourceJSON  `json:"applyset"`
	Revision int           `json:"revision,omitempty"`
	Status   state.Status  `json:"status,omitempty"`
	Health   string        `json:"health"`
	Ready    int           `json:"ready"`
	Total    int           `json:"total"`
	Sections []sectionJSON `json:"layers"`
	Notes    []string      `json:"notes,omitempty"`
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
	resourceJSON
	Verdict string `json:"verdict"`
	Health  string `json:"health"`
	Assumed bool   `json:"assumed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Rule    string `json:"rule,omitempty"`
}

func (s *setStatus) inJSON() Document {
	all := s.members()
	out := Document{Set: inJSON(s.Set, ""), Health: grade(all).String(), Ready: ready(all), Total: len(all), Sections: []sectionJSON{}, Notes: s.Notes}
	if s.Revision != nil {
		out.Revision, out.Status = s.Revision.Number, s.Revision.Status
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

func (m member) inJSON() memberJSON {
	return memberJSON{inJSON(m.ID, ""), m.Verdict.String(), m.grade().String(), m.Assumed, m.Reason, m.Rule}
}

// verdicts returns all members by ID.
func (s *setStatus) verdicts() map[object.ID]member {
	out := map[object.ID]member{}
	for _, m := range s.members() {
		out[m.ID] = m
	}
	return out
}
