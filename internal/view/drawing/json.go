package drawing

import (
	"io"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// jsonPlan is the plan as JSON. Waves and layers are referred to by index.
type jsonPlan struct {
	OrderSource ordering.OrderSource `json:"frame"`
	Waves       []jsonWave           `json:"waves"`
	Layers      []jsonLayer          `json:"layers"`
	Steps       []jsonStep           `json:"steps"`
	Hooks       []jsonHook           `json:"hooks,omitempty"`
	Skipped     []jsonSkipped        `json:"skipped,omitempty"`
	Dropped     []jsonDropped        `json:"dropped,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
}

type jsonWave struct {
	Name    string `json:"name,omitempty"`
	Timeout string `json:"timeout,omitempty"`
}

type jsonLayer struct {
	Name    string             `json:"name"`
	Kind    ordering.LayerKind `json:"kind"`
	Within  *int               `json:"within,omitempty"`
	Gate    string             `json:"gate"`
	Timeout string             `json:"timeout,omitempty"`
	After   []jsonBarrier      `json:"after,omitempty"`
}

type jsonID struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

type jsonStep struct {
	jsonID
	Source   string        `json:"source,omitempty"`
	Wave     int           `json:"wave"`
	ReadyBy  int           `json:"readyBy"`
	Layer    string        `json:"layer,omitempty"`
	Gate     string        `json:"gate"`
	Timeout  string        `json:"timeout,omitempty"`
	Because  string        `json:"because"`
	Needs    []jsonNeed    `json:"needs,omitempty"`
	External []jsonNeed    `json:"external,omitempty"`
	After    []jsonBarrier `json:"after,omitempty"`
	Layers   []int         `json:"layers,omitempty"`
}

type jsonNeed struct {
	jsonID
	Gate     string `json:"gate"`
	Declared bool   `json:"declared,omitempty"`
	Yields   bool   `json:"yields,omitempty"`
	jsonReason
}

type jsonBarrier struct {
	Layer int `json:"layer"`
	jsonReason
}

type jsonReason struct {
	Rule   ordering.Rule `json:"rule"`
	Detail string        `json:"detail,omitempty"`
	Where  string        `json:"where,omitempty"`
}

type jsonHook struct {
	jsonID
	Event  string `json:"event"`
	Weight int    `json:"weight"`
	Source string `json:"source,omitempty"`
}

type jsonSkipped struct {
	jsonID
	jsonReason
}

type jsonDropped struct {
	jsonID
	Need    jsonNeed `json:"need"`
	Because []string `json:"because"`
}

// PlanJSON writes the plan as indented JSON. Waves and layers are referred to by index,
// from 0; durations are Go's, such as "5m0s". The error is that of w.
func PlanJSON(w io.Writer, p *ordering.Plan) error {
	out := jsonPlan{OrderSource: p.OrderSource, Notes: p.Notes, Layers: []jsonLayer{}, Waves: []jsonWave{}, Steps: []jsonStep{}}
	for _, wave := range p.Waves {
		out.Waves = append(out.Waves, jsonWave{wave.Name, inJSON(wave.Timeout)})
	}
	for _, l := range p.Layers {
		layer := jsonLayer{Name: l.Name, Kind: l.Kind, Gate: l.Gate.String(), Timeout: inJSON(l.Timeout), After: barriersInJSON(l.After)}
		if l.Within >= 0 {
			layer.Within = &l.Within
		}
		out.Layers = append(out.Layers, layer)
	}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, stepInJSON(s))
	}
	for _, h := range p.Hooks {
		out.Hooks = append(out.Hooks, jsonHook{idInJSON(h.ID), h.Event, h.Weight, h.Source})
	}
	for _, s := range p.Skipped {
		out.Skipped = append(out.Skipped, jsonSkipped{idInJSON(s.ID), jsonReason(s.Why)})
	}
	for _, d := range p.Dropped {
		dropped := jsonDropped{jsonID: idInJSON(d.ID), Need: needInJSON(d.Need)}
		for _, e := range d.Because {
			dropped.Because = append(dropped.Because, e.String())
		}
		out.Dropped = append(out.Dropped, dropped)
	}
	return plain.WriteJSON(w, out, "  ")
}

func stepInJSON(s ordering.Step) jsonStep {
	return jsonStep{
		jsonID: idInJSON(s.ID), Source: s.Source, Wave: s.Wave, ReadyBy: s.ReadyBy, Layer: s.Layer,
		Gate: s.Gate.String(), Timeout: inJSON(s.Timeout), Because: s.Why.String(),
		Needs: needsInJSON(s.Needs), External: needsInJSON(s.External), After: barriersInJSON(s.After), Layers: s.Layers,
	}
}

func needInJSON(n ordering.Need) jsonNeed {
	return jsonNeed{idInJSON(n.ID), n.Gate.String(), n.Hard, n.Yields && !n.Hard, jsonReason(n.Why)}
}

func needsInJSON(needs []ordering.Need) []jsonNeed {
	var out []jsonNeed
	for _, n := range needs {
		out = append(out, needInJSON(n))
	}
	return out
}

func barriersInJSON(barriers []ordering.Barrier) []jsonBarrier {
	var out []jsonBarrier
	for _, b := range barriers {
		out = append(out, jsonBarrier{b.Layer, jsonReason(b.Why)})
	}
	return out
}

func idInJSON(id object.ID) jsonID { return jsonID{id.Group, id.Kind, id.Namespace, id.Name} }

func inJSON(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
