package planner

import (
	"github.com/ordapply/ordapply/ordering"
)

// ahead finds the last wave that may open before a resource is ready: the one before the first
// resource that waits for it to be ready, or for a layer that does.
type ahead struct {
	*planner
	last   int           // the last wave
	behind map[int32]int // by vertex of a set, the first wave that waits for it
}

func newAhead(b *planner) ahead {
	last := 0
	for i := range b.Resources {
		last = max(last, b.wave[i])
	}
	return ahead{planner: b, last: last, behind: map[int32]int{}}
}

// of returns the last wave that may open before a resource is ready.
func (a ahead) of(resource int32) int {
	first := a.last + 1
	for _, i := range a.outOf(resource) {
		switch e := a.Kept[i]; {
		case a.isResource(e.To) && e.Gate == ordering.Ready:
			first = min(first, a.wave[e.To])
		case a.IsSetVertex(e.To):
			first = min(first, a.after(e.To))
		}
	}
	return first - 1
}

// after returns the first wave that waits for a vertex of a set; if none does, the number of
// waves.
func (a ahead) after(set int32) int {
	if first, known := a.behind[set]; known {
		return first
	}
	first := a.last + 1
	for _, i := range a.graph.Out.Of(set) {
		if to := a.Kept[i].To; a.isResource(to) {
			first = min(first, a.wave[to])
		} else if a.IsSetVertex(to) {
			first = min(first, a.after(to))
		}
	}
	a.behind[set] = first
	return first
}

func (a ahead) isResource(v int32) bool { return int(v) < len(a.Resources) }
