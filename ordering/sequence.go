package ordering

import (
	"container/heap"

	"github.com/ordapply/ordapply/internal/declared"
)

// Sequence returns the indices of the steps in an order in which each follows
// everything it needs, for writing them down: by wave; within a wave by layer
// where needs allow, steps without a layer first.
func (p *Plan) Sequence() []int {
	index := p.Positions()
	waiting := make([]int, len(p.Steps))
	then := make([][]int, len(p.Steps))
	next := &sequenceHeap{plan: p, layer: p.layerNumbers()}
	for i, s := range p.Steps {
		for _, n := range s.Needs {
			if from := index[n.ID]; p.Steps[from].Wave == s.Wave {
				waiting[i]++
				then[from] = append(then[from], i)
			}
		}
		if waiting[i] == 0 {
			heap.Push(next, i)
		}
	}
	out := make([]int, 0, len(p.Steps))
	for next.Len() > 0 {
		i := heap.Pop(next).(int)
		out = append(out, i)
		for _, j := range then[i] {
			if waiting[j]--; waiting[j] == 0 {
				heap.Push(next, j)
			}
		}
	}
	return out
}

// layerNumbers maps layer names to their position in the plan, from 1.
func (p *Plan) layerNumbers() map[string]int {
	numbers := map[string]int{"": 0}
	for l, layer := range p.Layers {
		numbers[layer.Name] = l + 1
	}
	return numbers
}

// sequenceHeap orders the steps that may come next.
type sequenceHeap struct {
	plan  *Plan
	layer map[string]int
	steps []int
}

func (h *sequenceHeap) Len() int      { return len(h.steps) }
func (h *sequenceHeap) Swap(i, j int) { h.steps[i], h.steps[j] = h.steps[j], h.steps[i] }

func (h *sequenceHeap) Less(i, j int) bool {
	a, b := &h.plan.Steps[h.steps[i]], &h.plan.Steps[h.steps[j]]
	if a.Wave != b.Wave {
		return a.Wave < b.Wave
	}
	if x, y := h.layer[a.Layer], h.layer[b.Layer]; x != y {
		return x < y
	}
	return h.steps[i] < h.steps[j]
}

// Push implements heap.Interface.
func (h *sequenceHeap) Push(x any) { h.steps = append(h.steps, x.(int)) }

// Pop implements heap.Interface.
func (h *sequenceHeap) Pop() any {
	last := h.steps[len(h.steps)-1]
	h.steps = h.steps[:len(h.steps)-1]
	return last
}

// LayerMark returns the name of the layer that a step is applied with, for marks in
// a stream; "" if there is none.
func (p *Plan) LayerMark(s Step) string {
	if s.PlacedByDependents() {
		return ""
	}
	for _, l := range s.Layers {
		switch layer := p.Layers[l]; layer.Kind {
		case Stamped, ArgoWave, Application:
			return layer.Name
		case HelmGroup:
			if !declared.IsUnsequenced(layer.Name) {
				return layer.Name
			}
		}
	}
	return ""
}
