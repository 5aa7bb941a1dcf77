package arrange

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
)

// dependents lists the resources that need each of n resources.
func dependents(plan *Plan, n int) [][]int {
	out := make([][]int, n)
	if plan == nil {
		return out
	}
	for i, step := range plan.Steps {
		if step == nil {
			continue
		}
		for _, need := range step.Needs {
			at := plan.At(need.ID)
			out[at] = append(out[at], i)
		}
	}
	return out
}

func newEmitter(stream Stream, plan *Plan) *Emitter {
	n := len(stream.Metas)
	e := &Emitter{
		stream: stream, plan: plan, dependents: dependents(plan, n), layers: make([]int, n), members: map[string][]int{},
		direct: map[int][]string{}, kptOf: map[int]dependsOnValue{}, alone: make([]bool, n),
	}
	for i, s := range stream.Stamps {
		e.layers[i] = -1
		switch {
		case s.Order == "" || plan.Early(i):
			continue
		case stream.Ours[i]:
			e.layers[i] = s.Wave
		}
		if plan.Late(i) {
			continue // no layer waits for it
		}
		e.members[s.LayerName()] = append(e.members[s.LayerName()], i)
	}
	for i := range stream.Metas {
		e.hasFirst = e.hasFirst || stream.Ours[i] && e.first(i)
		for _, need := range e.single(i) {
			e.alone[need] = e.alone[need] || stream.Ours[i]
		}
	}
	for _, members := range e.members { // by name, independent of input order
		slices.SortStableFunc(members, func(a, b int) int { return object.Compare(stream.Metas[a].ID, stream.Metas[b].ID) })
	}
	return e
}

// directNeeds returns the layers directly before a layer, as order/layer,
// without empty and implied ones. Empty layers pass on their needs. It returns
// nil for layer -1.
func (e *Emitter) directNeeds(layer int) []string {
	if layer < 0 {
		return nil
	}
	if _, known := e.direct[layer]; !known {
		e.direct[layer] = e.directNeedsOf(layer)
	}
	return e.direct[layer]
}

func (e *Emitter) directNeedsOf(rank int) []string {
	needs := e.allNeeds(rank)
	covered := map[string]bool{}
	for _, need := range needs {
		for _, further := range e.needsOf(need) {
			covered[further] = true
		}
	}
	return slices.DeleteFunc(needs, func(need string) bool { return covered[need] })
}

// allNeeds returns all layers with resources that must come before one of ours.
func (e *Emitter) allNeeds(rank int) []string {
	layer := e.stream.Order.Layers[rank]
	all := slices.Clone(layer.Needs)
	if layer.Needs == nil {
		for _, before := range e.stream.Order.Layers[:rank] {
			all = append(all, e.stream.Order.Name+"/"+before.Name)
		}
	}
	return slices.DeleteFunc(all, func(need string) bool { return len(e.members[need]) == 0 })
}

// needsOf returns the needs of a layer by name; for another order's, from its
// stamps.
func (e *Emitter) needsOf(name string) []string {
	for _, layer := range e.stream.Order.Layers {
		if e.stream.Order.Name+"/"+layer.Name == name {
			return e.allNeeds(layer.Rank)
		}
	}
	if s, ok, err := stamp.Read(e.stream.Metas[e.members[name][0]].Annotations); ok && err == nil {
		return s.Needs
	}
	return nil
}
