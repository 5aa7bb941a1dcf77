package drawing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Drawing is a plan prepared for drawing: waves that contain boxes, and arrows
// between boxes. Resources of one kind, wave and layer with the same
// dependencies and dependents share a box. It omits arrows that the waves already imply:
// from a Namespace to its resources, and arrows implied by a longer path.
type Drawing struct {
	Title  string      // "12 resources in 4 waves"
	Waves  []DrawnWave // as in the plan
	Boxes  []Box       // referred to by index
	Arrows []Arrow     // none points back to an earlier wave
}

// DrawnWave is a wave and its boxes, as indices into Drawing.Boxes.
type DrawnWave struct {
	Title string // "wave 2/5 (data)"
	Gate  string // "gate: 4 resources ready, 1 resource applied", of earlier waves; or ""
	Boxes []int
}

// Box is one resource, or several that are alike, or the end of a layer.
type Box struct {
	Kind  string   // or "platform/data: 12 resources", or a layer's name
	Names []string // "namespace/name", sorted
	Layer string   // of its resources; "" if none
	Steps []int    // its resources, as indices into Plan.Steps
	Wave  int      // index into Drawing.Waves
	End   bool     // the end of a layer; arrows to dependents of the whole layer start here
}

// maxNames is the number of names that a box lists.
const maxNames = 12

// Lines returns a box's kind and its names, of which it lists about a dozen.
func (b Box) Lines() []string {
	lines := append([]string{b.Kind}, b.Names...)
	if len(b.Names) > maxNames+1 {
		lines = append(lines[:maxNames+1], fmt.Sprintf("… and %d more", len(b.Names)-maxNames))
	}
	return lines
}

// Arrow points from a box to its dependent.
type Arrow struct {
	From, To int           // indices into Drawing.Boxes; To waits for From
	Gate     ordering.Gate // the gate it waits for
	Hard     bool          // the author declared it
	Why      string        // one of the reasons
}

// link is an edge of the plan between two steps.
type link struct {
	from, to int
	gate     ordering.Gate
	hard     bool
	why      ordering.Reason
}

// drawnLinks returns the edges to draw, one for each pair of steps, grouped by
// dependent.
func drawnLinks(p *ordering.Plan) [][]link {
	index := p.Positions()
	out := make([][]link, len(p.Steps))
	for i, s := range p.Steps {
		best := map[int]link{}
		for _, n := range s.Needs {
			from := index[n.ID]
			if n.Why.Rule == ordering.RuleNamespace && p.Steps[from].Wave < s.Wave {
				continue
			}
			l := link{from, i, n.Gate, n.Hard, n.Why}
			if have, ok := best[from]; !ok || l.hard && !have.hard || l.hard == have.hard && l.gate < have.gate {
				best[from] = l
			}
		}
		for _, from := range slices.Sorted(maps.Keys(best)) {
			out[i] = append(out[i], best[from])
		}
	}
	return out
}

// reduceLinks drops inferred links that are implied by a longer path.
func reduceLinks(links [][]link, size int) [][]link {
	out := make([][]link, size)
	for to := range links {
		seen := make([]bool, size)
		var walk func(v int)
		walk = func(v int) {
			for _, l := range links[v] {
				if !seen[l.from] {
					seen[l.from] = true
					walk(l.from)
				}
			}
		}
		for _, l := range links[to] {
			walk(l.from)
		}
		for _, l := range links[to] {
			if l.hard || !seen[l.from] {
				out[to] = append(out[to], l)
			}
		}
	}
	return out
}

// boxKeys returns a key for each step; steps with equal keys may share a box.
func boxKeys(p *ordering.Plan, links [][]link) []string {
	neighbours := make([][]string, len(p.Steps))
	for to, in := range links {
		for _, l := range in {
			how := fmt.Sprint(l.gate, l.hard)
			neighbours[to] = append(neighbours[to], fmt.Sprint("<", l.from, how))
			neighbours[l.from] = append(neighbours[l.from], fmt.Sprint(">", to, how))
		}
	}
	out := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		slices.Sort(neighbours[i])
		out[i] = strings.Join(append(neighbours[i], fmt.Sprint(s.Wave), s.ID.GroupKind(), s.Layer), "\x00")
	}
	return out
}

// coarseBoxKeys returns a key for each step of a large plan: its wave with its layer
// or kind. Boxes that form a cycle get the same key.
func coarseBoxKeys(p *ordering.Plan, links [][]link) []string {
	out := make([]string, len(p.Steps))
	boxOf := make([]int32, len(p.Steps))
	var titles []string
	number := map[string]int32{}
	for i, s := range p.Steps {
		out[i] = fmt.Sprint(s.Wave, "\x00", cmp.Or(s.Layer, s.ID.GroupKind()))
		b, ok := number[out[i]]
		if !ok {
			b = int32(len(titles))
			number[out[i]], titles = b, append(titles, out[i])
		}
		boxOf[i] = b
	}
	var edges []graph.Edge
	for _, in := range links {
		for _, l := range in {
			edges = append(edges, graph.Edge{From: boxOf[l.from], To: boxOf[l.to]})
		}
	}
	for _, component := range graph.New(len(titles), edges).Components() {
		for _, b := range component {
			titles[b] = titles[slices.Min(component)]
		}
	}
	for i, b := range boxOf {
		out[i] = titles[b]
	}
	return out
}

// boxes puts steps with equal keys into one box and returns each step's box.
func (d *Drawing) boxes(p *ordering.Plan, keys []string, coarse bool) []int {
	byKey := map[string]int{}
	boxOf := make([]int, len(p.Steps))
	kinds := map[int]map[string]int{}
	for i, s := range p.Steps {
		b, ok := byKey[keys[i]]
		if !ok {
			b = len(d.Boxes)
			byKey[keys[i]] = b
			d.Boxes = append(d.Boxes, Box{Layer: s.Layer, Wave: s.Wave})
			kinds[b] = map[string]int{}
		}
		boxOf[i] = b
		if d.Boxes[b].Layer != s.Layer {
			d.Boxes[b].Layer = ""
		}
		d.Boxes[b].Steps = append(d.Boxes[b].Steps, i)
		kinds[b][kindTitle(s.ID)]++
		d.Boxes[b].Names = append(d.Boxes[b].Names, strings.TrimPrefix(s.ID.String(), kindTitle(s.ID)+" "))
	}
	for b := range d.Boxes {
		d.Boxes[b].name(kinds[b], coarse)
	}
	return boxOf
}

// name sets a box's title to the kind of its resources. If the box has several
// kinds, or is a layer in a large plan, it lists the number of each kind
// instead of names.
func (b *Box) name(kinds map[string]int, coarse bool) {
	sorted := slices.Sorted(maps.Keys(kinds))
	if len(sorted) == 1 && (!coarse || b.Layer == "") {
		b.Kind = sorted[0]
		if n := len(b.Names); n > 1 {
			b.Kind = fmt.Sprintf("%d × %s", n, b.Kind)
		}
		return
	}
	b.Kind, b.Names = plain.Count(len(b.Names), "resource"), nil
	if b.Layer != "" {
		b.Kind = b.Layer + ": " + b.Kind
	}
	for _, kind := range sorted {
		b.Names = append(b.Names, fmt.Sprintf("%d × %s", kinds[kind], kind))
	}
}

// kindTitle returns the kind as ID.String prints it.
func kindTitle(id object.ID) string {
	kind, _, _ := strings.Cut(id.String(), " ")
	return kind
}

// arrows adds one arrow for each pair of boxes, from the strongest of their
// links.
func (d *Drawing) arrows(links [][]link, boxOf []int) {
	type pair struct{ from, to int }
	at := map[pair]int{}
	for _, in := range links {
		for _, l := range in {
			ends := pair{boxOf[l.from], boxOf[l.to]}
			if ends.from == ends.to {
				continue
			}
			i, ok := at[ends]
			if !ok {
				i = len(d.Arrows)
				at[ends] = i
				d.Arrows = append(d.Arrows, Arrow{From: ends.from, To: ends.to, Gate: l.gate, Why: l.why.String()})
			}
			a := &d.Arrows[i]
			a.Gate, a.Hard = min(a.Gate, l.gate), a.Hard || l.hard
		}
	}
	slices.SortFunc(d.Arrows, func(a, b Arrow) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
}
