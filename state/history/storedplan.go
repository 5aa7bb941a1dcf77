package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The types of this file are a plan as formats v2 to v5 store it. They are a
// contract with every stored revision: a field that is added, renamed or
// given another meaning needs a new format, and a sample in
// testdata/revisions.

type storedPlan struct {
	Frame   string          `json:"frame,omitempty"`
	Waves   []storedWave    `json:"waves"`
	Layers  []storedLayer   `json:"layers,omitempty"`
	Steps   []storedStep    `json:"steps"`
	Skipped []storedSkipped `json:"skipped,omitempty"`
	Dropped []storedDropped `json:"dropped,omitempty"`
	Notes   []string        `json:"notes,omitempty"`
	// Within are the hooks that run with the resources of a wave, since format 5.
	Within []storedWithin `json:"within,omitempty"`
}

type storedWithin struct {
	ID      storedID `json:"id"`
	Wave    int      `json:"wave"`    // index into waves
	ReadyBy int      `json:"readyBy"` // index into waves
}

type storedWave struct {
	Name    string         `json:"name,omitempty"`
	Timeout storedDuration `json:"timeout,omitempty"`
}

type storedLayer struct {
	Name    string          `json:"name"`
	Kind    string          `json:"kind"`
	Within  int             `json:"within"` // index into layers; -1: none
	Gate    storedGate      `json:"gate"`
	After   []storedBarrier `json:"after,omitempty"`
	Timeout storedDuration  `json:"timeout,omitempty"`
}

type storedStep struct {
	ID     storedID `json:"id"`
	Source string   `json:"source,omitempty"`
	storedPlace
	Gate     storedGate      `json:"gate"`
	Timeout  storedDuration  `json:"timeout,omitempty"`
	Needs    []storedNeed    `json:"needs,omitempty"`
	After    []storedBarrier `json:"after,omitempty"`
	Layers   []int           `json:"layers,omitempty"` // indices into layers
	External []storedNeed    `json:"external,omitempty"`
	MadeBy   []storedID      `json:"madeBy,omitempty"`
	Why      storedReason    `json:"why"`
	// AfterHooks and FailsOpen are the step's.
	AfterHooks bool `json:"afterHooks,omitempty"`
	FailsOpen  bool `json:"failsOpen,omitempty"`
}

// storedPlace is the position of a step, in the same JSON object.
type storedPlace struct {
	Wave    int    `json:"wave"`            // index into waves
	Later   int    `json:"later,omitempty"` // number of waves after that in which it becomes ready
	ReadyBy int    `json:"readyBy"`         // index into waves
	Layer   string `json:"layer,omitempty"`
}

type storedNeed struct {
	ID   storedID     `json:"id"`
	Gate storedGate   `json:"gate"`
	Why  storedReason `json:"why"`
	Hard bool         `json:"hard,omitempty"`
	// Yields is only in plans since format 4: the edges of older ones never yield.
	Yields bool `json:"yields,omitempty"`
}

type storedBarrier struct {
	Layer int          `json:"layer"` // index into layers
	Why   storedReason `json:"why"`
}

type storedReason struct {
	Rule   ordering.Rule `json:"rule,omitempty"`
	Detail string        `json:"detail,omitempty"`
	Where  string        `json:"where,omitempty"`
}

type storedSkipped struct {
	ID  storedID     `json:"id"`
	Why storedReason `json:"why"`
}

type storedDropped struct {
	ID      storedID     `json:"id"`
	Need    storedNeed   `json:"need"`
	Because []storedEdge `json:"because,omitempty"`
}

type storedEdge struct {
	From string       `json:"from"`
	To   string       `json:"to"`
	Why  storedReason `json:"why"`
}

type storedID struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// storedGate encodes a gate by its name.
type storedGate ordering.Gate

func (g storedGate) MarshalText() ([]byte, error) {
	switch gate := ordering.Gate(g); gate {
	case ordering.Ready, ordering.Started, ordering.Applied:
		return []byte(gate.String()), nil
	}
	return nil, fmt.Errorf("unknown gate %d", g)
}

func (g *storedGate) UnmarshalText(text []byte) error {
	if string(text) == ordering.Started.String() {
		*g = storedGate(ordering.Started)
		return nil
	}
	gate, err := ordering.ParseGate(string(text))
	*g = storedGate(gate)
	return err
}

// storedDuration encodes a duration in Go's syntax: 1m30s.
type storedDuration time.Duration

func (d storedDuration) MarshalText() ([]byte, error) {
	return []byte(time.Duration(d).String()), nil
}

func (d *storedDuration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = storedDuration(read)
	return err
}

// mapSlice converts each item of a list; nil stays nil.
func mapSlice[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}

// writePlan writes the fields of a storedPlan.
func writePlan(o *jsonObject, p *ordering.Plan) {
	o.fieldIf(p.OrderSource != "", "frame", p.OrderSource)
	writeList(o, "waves", p.Waves, func(w ordering.Wave) storedWave { return storedWave{w.Name, storedDuration(w.Timeout)} })
	if len(p.Layers) > 0 {
		writeList(o, "layers", p.Layers, storeLayer)
	}
	writeList(o, "steps", p.Steps, storeStep)
	if len(p.Skipped) > 0 {
		writeList(o, "skipped", p.Skipped, func(s ordering.Skipped) storedSkipped { return storedSkipped{storedID(s.ID), storedReason(s.Why)} })
	}
	if len(p.Dropped) > 0 {
		writeList(o, "dropped", p.Dropped, storeDropped)
	}
	o.fieldIf(len(p.Notes) > 0, "notes", p.Notes)
	if within := slices.DeleteFunc(slices.Clone(p.Hooks), func(h ordering.PlannedHook) bool { return !h.Within }); len(within) > 0 {
		writeList(o, "within", within, func(h ordering.PlannedHook) storedWithin { return storedWithin{storedID(h.ID), h.Wave, h.ReadyBy} })
	}
}

// unorderedWave is the name of the only wave of a stored plan whose order was ignored. The formats
// have no field for it.
const unorderedWave = "unordered"

func (p storedPlan) plan() *ordering.Plan {
	return &ordering.Plan{
		OrderSource:  ordering.OrderSource(p.Frame),
		OrderIgnored: len(p.Layers) == 0 && len(p.Waves) == 1 && p.Waves[0].Name == unorderedWave,
		Waves: mapSlice(p.Waves, func(w storedWave) ordering.Wave {
			return ordering.Wave{Name: w.Name, Timeout: time.Duration(w.Timeout)}
		}),
		Layers: mapSlice(p.Layers, storedLayer.layer),
		Steps:  mapSlice(p.Steps, storedStep.step),
		Skipped: mapSlice(p.Skipped, func(s storedSkipped) ordering.Skipped {
			return ordering.Skipped{ID: object.ID(s.ID), Why: ordering.Reason(s.Why)}
		}),
		Dropped: mapSlice(p.Dropped, storedDropped.dropped),
		Notes:   p.Notes,
		Hooks: mapSlice(p.Within, func(w storedWithin) ordering.PlannedHook {
			return ordering.PlannedHook{Event: string(hook.Sync), ID: object.ID(w.ID), Within: true, Wave: w.Wave, ReadyBy: w.ReadyBy}
		}),
	}
}

func storeLayer(l ordering.Layer) storedLayer {
	return storedLayer{
		Name: l.Name, Kind: string(l.Kind), Within: l.Within, Gate: storedGate(l.Gate),
		After: mapSlice(l.After, storeBarrier), Timeout: storedDuration(l.Timeout),
	}
}

func (l storedLayer) layer() ordering.Layer {
	return ordering.Layer{
		Name: l.Name, Kind: ordering.LayerKind(l.Kind), Within: l.Within, Gate: ordering.Gate(l.Gate),
		After: mapSlice(l.After, storedBarrier.barrier), Timeout: time.Duration(l.Timeout),
	}
}

func storeStep(s ordering.Step) storedStep {
	return storedStep{
		ID: storedID(s.ID), Source: s.Source, storedPlace: storedPlace{s.Wave, s.Due - s.Wave, s.ReadyBy, s.Layer},
		Gate: storedGate(s.Gate), Timeout: storedDuration(s.Timeout),
		Needs: mapSlice(s.Needs, storeNeed), After: mapSlice(s.After, storeBarrier), Layers: s.Layers,
		External: mapSlice(s.External, storeNeed), MadeBy: mapSlice(s.ProvidedBy, func(id object.ID) storedID { return storedID(id) }),
		Why: storedReason(s.Why), AfterHooks: s.AfterHooks, FailsOpen: s.FailsOpen,
	}
}

func (s storedStep) step() ordering.Step {
	return ordering.Step{
		ID: object.ID(s.ID), Source: s.Source, Wave: s.Wave, Due: s.Wave + s.Later, ReadyBy: s.ReadyBy, Layer: s.Layer,
		Gate: ordering.Gate(s.Gate), Timeout: time.Duration(s.Timeout),
		Needs: mapSlice(s.Needs, storedNeed.need), After: mapSlice(s.After, storedBarrier.barrier), Layers: s.Layers,
		External: mapSlice(s.External, storedNeed.need), ProvidedBy: mapSlice(s.MadeBy, func(id storedID) object.ID { return object.ID(id) }),
		Why: ordering.Reason(s.Why), AfterHooks: s.AfterHooks, FailsOpen: s.FailsOpen,
	}
}

func storeNeed(n ordering.Need) storedNeed {
	return storedNeed{storedID(n.ID), storedGate(n.Gate), storedReason(n.Why), n.Hard, n.Yields}
}

func (n storedNeed) need() ordering.Need {
	return ordering.Need{ID: object.ID(n.ID), Gate: ordering.Gate(n.Gate), Why: ordering.Reason(n.Why), Hard: n.Hard, Yields: n.Yields}
}

func storeBarrier(b ordering.Barrier) storedBarrier {
	return storedBarrier{b.Layer, storedReason(b.Why)}
}

func (b storedBarrier) barrier() ordering.Barrier {
	return ordering.Barrier{Layer: b.Layer, Why: ordering.Reason(b.Why)}
}

func storeDropped(d ordering.Dropped) storedDropped {
	return storedDropped{storedID(d.ID), storeNeed(d.Need), mapSlice(d.Because, func(e ordering.CycleEdge) storedEdge {
		return storedEdge{e.From, e.To, storedReason(e.Why)}
	})}
}

func (d storedDropped) dropped() ordering.Dropped {
	return ordering.Dropped{ID: object.ID(d.ID), Need: d.Need.need(), Because: mapSlice(d.Because, func(e storedEdge) ordering.CycleEdge {
		return ordering.CycleEdge{From: e.From, To: e.To, Why: ordering.Reason(e.Why)}
	})}
}

// hasStartedGates reports whether a plan has gates that formats before the fourth do not know.
func hasStartedGates(p *ordering.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s ordering.Step) bool {
		return slices.ContainsFunc(s.Needs, func(n ordering.Need) bool { return n.Gate == ordering.Started })
	})
}
