package drawing

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// A coarse drawing has arrows between layers. A drawing of single resources has
// a box for the end of each layer if the layers branch: arrows lead to it from
// the last boxes of the layer, and from it to the first boxes that wait for the
// layer.

// layerLinks returns the edges between layers for a coarse drawing: from a step
// of a layer's last wave to each step that waits for the layer.
func layerLinks(p *ordering.Plan) [][]link {
	last := map[int]int{}
	for i, s := range p.Steps {
		for _, l := range s.Layers {
			last[l] = i
		}
	}
	var links []link
	for i, s := range p.Steps {
		for _, b := range s.After {
			if from, ok := last[b.Layer]; ok && p.Layers[b.Layer].Kind != ordering.Prerequisites && s.Layer != "" {
				links = append(links, link{from, i, p.Layers[b.Layer].Gate, true, b.Why})
			}
		}
	}
	return [][]link{links}
}

// layerEnds draws the ends of layers, unless the layers form a single sequence,
// which the waves already show.
func (d *Drawing) layerEnds(p *ordering.Plan, boxOf []int) {
	before := layersBefore(p)
	ends := ends(p, before)
	if totallyOrdered(ends, before) {
		return
	}
	arrows := map[Arrow]bool{}
	for _, l := range slices.Sorted(maps.Keys(ends)) {
		end := ends[l]
		box := len(d.Boxes)
		d.Boxes = append(d.Boxes, Box{Kind: p.Layers[l].Name, End: true, Wave: lastWave(p, end.members)})
		for _, i := range d.unconnected(end.members, boxOf, func(a Arrow) int { return a.From }, func(a Arrow) int { return a.To }) {
			arrows[Arrow{From: i, To: box, Gate: p.Layers[l].Gate, Hard: true, Why: "part of " + p.Layers[l].Name}] = true
		}
		for _, i := range d.unconnected(end.waiting, boxOf, func(a Arrow) int { return a.To }, func(a Arrow) int { return a.From }) {
			arrows[Arrow{From: box, To: i, Gate: p.Layers[l].Gate, Hard: true, Why: end.why.String()}] = true
		}
	}
	sorted := slices.SortedFunc(maps.Keys(arrows), func(a, b Arrow) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	d.Arrows = append(d.Arrows, sorted...)
}

// layerEnd holds the steps before and after the end of a layer, as indices.
type layerEnd struct {
	members, waiting []int
	why              ordering.Reason
}

// ends returns, for each layer that steps wait for, its members and the steps
// that wait for it and not for a later layer.
func ends(p *ordering.Plan, before []map[int]bool) map[int]*layerEnd {
	ends := map[int]*layerEnd{}
	for i, s := range p.Steps {
		for _, b := range s.After {
			l := p.Layers[b.Layer]
			if l.Kind == ordering.Prerequisites || l.Kind == ordering.AllPlaced || slices.ContainsFunc(s.After, func(other ordering.Barrier) bool { return before[other.Layer][b.Layer] }) {
				continue
			}
			if ends[b.Layer] == nil {
				ends[b.Layer] = &layerEnd{why: b.Why}
			}
			ends[b.Layer].waiting = append(ends[b.Layer].waiting, i)
		}
	}
	for i, s := range p.Steps {
		for _, l := range s.Layers {
			for ; l >= 0; l = p.Layers[l].Within {
				if ends[l] != nil {
					ends[l].members = append(ends[l].members, i)
				}
			}
		}
	}
	maps.DeleteFunc(ends, func(_ int, e *layerEnd) bool { return len(e.members) == 0 })
	return ends
}

// layersBefore returns, for each layer, all layers that it waits for, directly,
// through an enclosing layer, or transitively.
func layersBefore(p *ordering.Plan) []map[int]bool {
	before := make([]map[int]bool, len(p.Layers))
	var visit func(l int) map[int]bool
	visit = func(l int) map[int]bool {
		if before[l] != nil {
			return before[l]
		}
		all := map[int]bool{}
		for _, b := range p.Layers[l].After {
			all[b.Layer] = true
			maps.Copy(all, visit(b.Layer))
		}
		if around := p.Layers[l].Within; around >= 0 {
			maps.Copy(all, visit(around))
		}
		before[l] = all
		return all
	}
	for l := range p.Layers {
		visit(l)
	}
	return before
}

// totallyOrdered reports whether the layers are totally ordered.
func totallyOrdered(ends map[int]*layerEnd, before []map[int]bool) bool {
	for a := range ends {
		for b := range ends {
			if a != b && !before[a][b] && !before[b][a] {
				return false
			}
		}
	}
	return true
}

func lastWave(p *ordering.Plan, steps []int) int {
	last := 0
	for _, i := range steps {
		last = max(last, p.Steps[i].Wave)
	}
	return last
}

// unconnected returns the boxes of steps that no arrow connects, at the given end,
// to another box of the same steps.
func (d *Drawing) unconnected(steps, boxOf []int, near, far func(Arrow) int) []int {
	free := map[int]bool{}
	for _, i := range steps {
		free[boxOf[i]] = true
	}
	for _, a := range d.Arrows {
		_, fromThem := free[far(a)]
		if _, one := free[near(a)]; one && fromThem {
			free[near(a)] = false
		}
	}
	maps.DeleteFunc(free, func(_ int, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(free))
}
