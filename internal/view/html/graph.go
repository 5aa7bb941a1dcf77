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

// maxBoxes and maxGraphWaves limit the graph of a page: above 300 resources a drawing has
// about 50 boxes, but a file may say anything.
const (
	maxBoxes      = 600
	maxGraphWaves = 200
)

// graph returns the drawing of the part's plan as SVG, with the states of the run, and the
// resources of each box. It returns "" for a single resource, and above the limits.
func (p *Part) graph(schedule string, critical []pageSegment) (template.HTML, [][]int, error) {
	if len(p.Resources) < 2 || p.lastWave() > maxGraphWaves {
		return "", nil, nil
	}
	d := drawing.Draw(p.plan())
	if len(d.Boxes) > maxBoxes {
		return "", nil, nil
	}
	path := map[int]bool{}
	for _, s := range critical {
		path[s.Of] = true
	}
	boxes := make([][]int, len(d.Boxes))
	for b := range d.Boxes {
		boxes[b] = d.Boxes[b].Steps
		d.Boxes[b].State = p.stateOf(boxes[b])
		if slices.ContainsFunc(boxes[b], func(i int) bool { return path[i] }) {
			d.Boxes[b].State += " critical"
		}
	}
	p.markGates(d, schedule)
	var svg strings.Builder
	err := plain.WriteLines(&svg, func(w io.Writer) error { return drawing.WriteSVG(w, d) })
	return template.HTML(svg.String()), boxes, err // WriteSVG escapes all texts
}

// stateOf returns the class of a box: as bad as its worst resource.
func (p *Part) stateOf(resources []int) string {
	class := "good"
	for _, i := range resources {
		switch p.Resources[i].State {
		case "failed", "timedOut":
			return "bad"
		case "ready", "applied", "deleted":
		default:
			class = "soft"
		}
	}
	return class
}

// markGates marks the gates that opened. A schedule without waves has no gates.
func (p *Part) markGates(d *drawing.Drawing, schedule string) {
	for n := range d.Waves {
		w := &d.Waves[n]
		if schedule == "graph" {
			w.Gate = ""
		}
		if n < len(p.Waves) && !p.Waves[n].Opened.IsZero() {
			w.State = "open"
		}
		if slices.ContainsFunc(p.Resources, func(r *Resource) bool { return r.Deletes && r.Planned.Wave == n }) {
			w.Gate = strings.Replace(w.Gate, "ready", "deleted", 1)
		}
	}
}

// plan returns the plan as the events describe it, with the resources in the same order.
func (p *Part) plan() *ordering.Plan {
	plan := &ordering.Plan{Waves: make([]ordering.Wave, p.lastWave())}
	for n, w := range p.Waves {
		plan.Waves[n].Name = w.Name
	}
	index := map[events.ID]int{}
	for i, r := range p.Resources {
		index[r.ID] = i
		plan.Steps = append(plan.Steps, ordering.Step{ID: object.ID(r.ID), Wave: r.Planned.Wave - 1, ReadyBy: r.next() - 2, Layer: r.Layer, Gate: gate(r.Gate)})
	}
	for i, needs := range p.possibleNeeds(index) {
		for _, n := range needs {
			rule, detail, _ := strings.Cut(n.Reason, ": ")
			why := graph.Reason{Rule: graph.Rule(rule), Detail: detail}
			plan.Steps[i].Needs = append(plan.Steps[i].Needs, ordering.Need{ID: object.ID(n.ID), Gate: gate(n.Gate), Hard: n.Declared, Why: why})
		}
	}
	return plan
}

// possibleNeeds returns the needs of each resource without those that no plan has, but a
// file may: of unknown resources, of later waves, and in a cycle.
func (p *Part) possibleNeeds(index map[events.ID]int) [][]events.Need {
	needs := make([][]events.Need, len(p.Resources))
	var edges []graph.Edge
	for i, r := range p.Resources {
		for _, n := range r.Needs {
			if from, ok := index[n.ID]; ok && from != i && p.Resources[from].Planned.Wave <= r.Planned.Wave {
				needs[i] = append(needs[i], n)
				edges = append(edges, graph.Edge{From: int32(from), To: int32(i)})
			}
		}
	}
	cycle := map[int]int{}
	for n, component := range graph.New(len(needs), edges).Components() {
		for _, i := range component {
			cycle[int(i)] = n + 1
		}
	}
	for i := range needs {
		needs[i] = slices.DeleteFunc(needs[i], func(n events.Need) bool { return cycle[i] > 0 && cycle[index[n.ID]] == cycle[i] })
	}
	return needs
}

func gate(text string) graph.Gate {
	for _, g := range []graph.Gate{graph.Started, graph.Applied} {
		if g.String() == text {
			return g
		}
	}
	return graph.Ready
}
