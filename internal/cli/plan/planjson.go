package plan

import (
	"io"
	"slices"

	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/diff"
	"github.com/ordapply/ordapply/object"
)

// Document is the preview as JSON, documented in docs/plan.md. Fields may
// be added; none changes its meaning.
type Document struct {
	Server    string                 `json:"server,omitempty"`
	Context   string                 `json:"context,omitempty"`
	Waves     []planWave             `json:"waves"`
	Resources []planResource         `json:"resources"`
	Hooks     []planHook             `json:"hooks,omitempty"`
	Skipped   []planSkipped          `json:"skipped,omitempty"`
	Notes     []string               `json:"notes,omitempty"`
	Warnings  []string               `json:"warnings,omitempty"` // from the API server
	Counts    map[preview.Action]int `json:"counts"`
}

type planWave struct {
	Name string `json:"name,omitempty"`
}

type planResource struct {
	object.ID
	Wave    int            `json:"wave"` // index into waves; -1 if pruned after the last
	Layer   string         `json:"layer,omitempty"`
	Action  preview.Action `json:"action"`
	Because string         `json:"because"`
	Detail  string         `json:"detail,omitempty"`
	Changes []planChange   `json:"changes,omitempty"`
	Error   string         `json:"error,omitempty"`
}

type planChange struct {
	Path   string    `json:"path"`
	Change diff.Kind `json:"change"`
	Before any       `json:"before,omitempty"`
	After  any       `json:"after,omitempty"`
}

// planHook is a hook that runs on an event.
type planHook struct {
	object.ID
	Event  string `json:"event"`
	Weight int    `json:"weight"`
}

type planSkipped struct {
	object.ID
	Because string `json:"because"`
}

// WriteJSON prints the preview as JSON.
func (p *Previewed) WriteJSON(w io.Writer) error {
	out := Document{
		Waves: []planWave{}, Resources: []planResource{}, Counts: map[preview.Action]int{},
		Notes: p.notes(), Warnings: p.Target.Warnings.List(),
	}
	if !p.Anonymous {
		out.Server, out.Context = p.Target.Server, p.Target.Context
	}
	for _, wave := range p.Plan.Waves {
		out.Waves = append(out.Waves, planWave{wave.Name})
	}
	for _, row := range p.Preview.Rows {
		out.Resources = append(out.Resources, resourceInJSON(row))
		out.Counts[row.Action]++
	}
	for _, h := range p.Plan.Hooks {
		out.Hooks = append(out.Hooks, planHook{h.ID, h.Event, h.Weight})
	}
	for _, s := range p.Plan.Skipped {
		out.Skipped = append(out.Skipped, planSkipped{s.ID, s.Why.String()})
	}
	return plain.WriteJSON(w, out, "  ")
}

// notes returns the notes of the plan, and the warning of a lost order.
func (p *Previewed) notes() []string {
	if p.LostOrder == nil {
		return p.Plan.Notes
	}
	return append(slices.Clip(p.Plan.Notes), p.LostOrder.Error())
}

func resourceInJSON(row preview.Row) planResource {
	out := planResource{
		ID: row.ID, Wave: row.Wave, Layer: row.Layer, Action: row.Action,
		Because: row.Why.String(), Detail: row.Detail,
	}
	for _, c := range changes(row) {
		out.Changes = append(out.Changes, planChange{c.Path, c.Kind, c.Before, c.After})
	}
	if row.Err != nil {
		out.Error = row.Err.Error()
	}
	return out
}
