package ordering

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// Sequence returns the indices of the steps in an order in which each follows
// everything it needs, for writing them down: by wave; within a wave by layer where
// needs allow, steps without a layer first. Steps without dependents that wait for no
// layer are last.
func (p *Plan) Sequence() []int {
	return p.SequenceBy(func(object.ID, object.ID) int { return 0 })
}

// SequenceBy is Sequence with an order of the resources of a layer, where needs allow.
func (p *Plan) SequenceBy(within func(a, b object.ID) int) []int {
	index, layer, last := p.Positions(), p.layerNumbers(), p.unused()
	wave := func(i int) int {
		if last[p.Steps[i].ID] {
			return len(p.Waves)
		}
		return p.Steps[i].Wave
	}
	compare := func(i, j int) int {
		a, b := &p.Steps[i], &p.Steps[j]
		return cmp.Or(cmp.Compare(wave(i), wave(j)), cmp.Compare(layer[a.Layer], layer[b.Layer]), within(a.ID, b.ID), cmp.Compare(i, j))
	}
	waiting := make([]int, len(p.Steps))
	then := make([][]int, len(p.Steps))
	var ready []int // the steps that may come next, sorted
	for i, s := range p.Steps {
		for _, n := range s.Needs {
			if from := index[n.ID]; p.Steps[from].Wave == s.Wave {
				waiting[i]++
				then[from] = append(then[from], i)
			}
		}
		if waiting[i] == 0 {
			ready = append(ready, i)
		}
	}
	slices.SortFunc(ready, compare)
	out := make([]int, 0, len(p.Steps))
	for len(ready) > 0 {
		i := ready[0]
		ready, out = ready[1:], append(out, i)
		for _, j := range then[i] {
			if waiting[j]--; waiting[j] == 0 {
				at, _ := slices.BinarySearchFunc(ready, j, compare)
				ready = slices.Insert(ready, at, j)
			}
		}
	}
	return out
}

// unused returns the steps that nothing placed and nothing waits for.
func (p *Plan) unused() map[object.ID]bool {
	out := map[object.ID]bool{}
	for _, s := range p.Steps {
		out[s.ID] = s.PlacedByDependents()
	}
	for _, s := range p.Steps {
		for _, n := range s.Needs {
			out[n.ID] = false
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
			if layer.Name != Unsequenced && !strings.HasSuffix(layer.Name, " "+Unsequenced) {
				return layer.Name
			}
		}
	}
	return ""
}
