package html

import (
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// maxGraph limits the boxes, waves and arrows of a graph: a plan of 10,000 resources has
// some 150 of them, but a file may say anything.
const maxGraph = 2000

// graph returns the drawing of the part's plan as SVG, and the resources in each box;
// none for a single resource, and above the limit.
func (p *Part) graph(schedule string) (svg template.HTML, boxes [][]int) {
	d := drawing.Draw(p.plan())
	if len(p.Resources) < 2 || len(d.Boxes)+len(d.Waves)+len(d.Arrows) > maxGraph {
		return "", nil
	}
	for _, b := range d.Boxes {
		boxes = append(boxes, b.Steps)
	}
	for n := range d.Waves {
		if schedule == "graph" { // has no gates between waves
			d.Waves[n].Gate = ""
		} else if slices.ContainsFunc(p.Resources, func(r *Resource) bool { return r.Deletes && r.Planned.Wave == n }) {
			d.Waves[n].Gate = strings.Replace(d.Waves[n].Gate, "ready", "deleted", 1)
		}
	}
	var text strings.Builder
	_ = plain.WriteLines(&text, func(w io.Writer) error { return drawing.EmbedSVG(w, d) }) // a Builder has no errors
	return template.HTML(text.String()), boxes                                             // EmbedSVG escapes all texts
}

// plan returns the plan as the events describe it, with the resources in the same order.
// Needs that form a cycle, which only an invalid file has, are all left out.
func (p *Part) plan() *ordering.Plan {
	plan := &ordering.Plan{Waves: make([]ordering.Wave, p.lastWave()), Steps: make([]ordering.Step, len(p.Resources))}
	for n, w := range p.Waves {
		plan.Waves[n].Name = w.Name
	}
	index := map[events.ID]int{}
	for i, r := range p.Resources {
		index[r.ID] = i
	}
	gates := map[string]ordering.Gate{"applied": ordering.Applied, "started": ordering.Started} // else ready
	var edges []graph.Edge
	for i, r := range p.Resources {
		s := ordering.Step{ID: object.ID(r.ID), Wave: r.Planned.Wave - 1, ReadyBy: r.next() - 2, Layer: r.Layer, Gate: gates[r.Gate]}
		for _, n := range r.Needs {
			if from, ok := index[n.ID]; ok && p.Resources[from].Planned.Wave <= r.Planned.Wave {
				rule, detail, _ := strings.Cut(n.Reason, ": ")
				s.Needs = append(s.Needs, ordering.Need{ID: object.ID(n.ID), Gate: gates[n.Gate], Hard: n.Declared, Why: ordering.Reason{Rule: ordering.Rule(rule), Detail: detail}})
				edges = append(edges, graph.Edge{From: int32(from), To: int32(i)})
			}
		}
		plan.Steps[i] = s
	}
	if _, order := graph.New(len(plan.Steps), edges).Ranks(); len(order) < len(plan.Steps) {
		for i := range plan.Steps {
			plan.Steps[i].Needs = nil
		}
	}
	return plan
}
