package setstatus

import (
	"github.com/ordapply/ordapply/state"
)

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
