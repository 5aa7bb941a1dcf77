package ordering

import (
	"container/heap"
	"strings"
)

// Sequence lists the steps, by their index, one after the other so that each
// comes after all that it needs: by wave, within one by layer where needs
// allow, those without a layer first.
func (p *Plan) Sequence() []int {
	index := p.index()
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

// layerNumbers are the places of the layers' names in the plan, from 1.
func (p *Plan) layerNumbers() map[string]int {
	numbers := map[string]int{"": 0}
	for l, layer := range p.Layers {
		numbers[layer.Name] = l + 1
	}
	return numbers
}

// sequenceHeap gives the step that goes next.
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

// Mark is the name of the layer that a step goes out with, as marks in a stream
// show it; "" when it goes out with none.
func (p *Plan) Mark(s Step) string {
	if s.Floats() {
		return ""
	}
	for _, l := range s.Layers {
		switch layer := p.Layers[l]; layer.Kind {
		case Stamped, ArgoWave, Application:
			return layer.Name
		case HelmGroup:
			if layer.Name != helmUnsequenced && !strings.HasSuffix(layer.Name, " "+helmUnsequenced) {
				return layer.Name
			}
		}
	}
	return ""
}
