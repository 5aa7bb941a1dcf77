package drawing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// maxDrawn is the number of resources up to which each is drawn.
const maxDrawn = 300

// Draw returns the drawing of a plan. Above 300 resources it draws layers, or
// kinds where no layer placed them, instead of resources.
func Draw(p *ordering.Plan) *Drawing {
	d := &Drawing{Title: fmt.Sprintf("%s in %s", plain.Count(len(p.Steps), "resource"), plain.Count(len(p.Waves), "wave"))}
	links := drawnLinks(p)
	var boxOf []int
	coarse := len(p.Steps) > maxDrawn
	if coarse {
		boxOf = d.boxes(p, coarseBoxKeys(p, links), coarse)
		links = slices.Concat(links, layerLinks(p))
		d.Title += "; " + plain.Count(len(d.Boxes), "box") + " of resources that share a layer or a kind"
	} else {
		links = reduceLinks(links, len(p.Steps))
		boxOf = d.boxes(p, boxKeys(p, links), coarse)
	}
	d.Title += hookCounts(p)
	d.arrows(links, boxOf)
	if !coarse {
		d.layerEnds(p, boxOf)
	}
	d.Waves = make([]DrawnWave, len(p.Waves))
	for w := range p.Waves {
		d.Waves[w].Title = p.WaveTitle(w)
	}
	d.gates(p)
	for b, box := range d.Boxes {
		d.Waves[box.Wave].Boxes = append(d.Waves[box.Wave].Boxes, b)
	}
	return d
}

// gates describes the gate before each wave: all resources of the wave before must be
// applied, steps with that ReadyBy ready, and its hooks done.
func (d *Drawing) gates(p *ordering.Plan) {
	type count struct{ ready, applied, hooks int }
	held := make([]count, len(p.Waves))
	for _, s := range p.Steps {
		if s.Gate != ordering.Applied {
			held[s.ReadyBy].ready++
		}
		if s.Gate == ordering.Applied || s.ReadyBy > s.Wave {
			held[s.Wave].applied++
		}
	}
	for _, h := range p.Hooks {
		if h.Within {
			held[h.ReadyBy].hooks++
		}
	}
	for w := 1; w < len(d.Waves); w++ {
		var parts []string
		by := held[w-1]
		for _, c := range []struct {
			n           int
			noun, state string
		}{{by.ready, "resource", "ready"}, {by.applied, "resource", "applied"}, {by.hooks, "hook", "done"}} {
			if c.n > 0 {
				parts = append(parts, plain.Count(c.n, c.noun)+" "+c.state)
			}
		}
		d.Waves[w].Gate = "gate: " + strings.Join(parts, ", ")
	}
}

// hookCounts returns the number of hooks of each event, for the title of a drawing:
// "; hooks: 2 pre-install, 1 post-upgrade".
func hookCounts(p *ordering.Plan) string {
	var parts []string
	for i := 0; i < len(p.Hooks); {
		n := i
		for n < len(p.Hooks) && p.Hooks[n].Event == p.Hooks[i].Event {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d %s", n-i, p.Hooks[i].Event))
		i = n
	}
	if len(parts) == 0 {
		return ""
	}
	return "; hooks: " + strings.Join(parts, ", ")
}
