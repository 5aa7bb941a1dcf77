package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Of is the deletion of some of the resources only, in the same order. A wave of
// which nothing is left is left out.
func (d *Deletion) Of(wanted func(object.ID) bool) *Deletion {
	out := &Deletion{Notes: d.Notes}
	last := -1
	for _, s := range d.Steps {
		if !wanted(s.ID) {
			continue
		}
		if s.Wave != last {
			last = s.Wave
			out.Waves++
		}
		s.Wave = out.Waves - 1
		var after []Need
		for _, need := range s.After {
			if wanted(need.ID) {
				after = append(after, need)
			}
		}
		s.After = after
		out.Steps = append(out.Steps, s)
	}
	return out
}

// With is the deletion with those of the resources that it does not hold, in a last
// wave, so that a deletion that is planned by what is known of resources leaves none out.
func (d *Deletion) With(resources []object.ID) *Deletion {
	held := make(map[object.ID]bool, len(d.Steps))
	for _, s := range d.Steps {
		held[s.ID] = true
	}
	out := *d
	out.Steps = slices.Clone(d.Steps)
	for _, id := range slices.SortedFunc(slices.Values(resources), object.Compare) {
		if !held[id] {
			held[id] = true
			out.Steps = append(out.Steps, DeletionStep{ID: id, Wave: d.Waves})
			out.Waves = d.Waves + 1
		}
	}
	return &out
}

// Only is the plan for some of the resources, in the same order. What they need of
// the others is taken to be there; a wave of which nothing is left is left out.
func (p *Plan) Only(wanted func(object.ID) bool) *Plan {
	out := &Plan{Layers: p.Layers, Frame: p.Frame}
	at := map[int]int{} // the new index of each wave that is left
	for _, s := range p.Steps {
		if !wanted(s.ID) {
			continue
		}
		if _, ok := at[s.Wave]; !ok {
			at[s.Wave] = len(out.Waves)
			out.Waves = append(out.Waves, p.Waves[s.Wave])
		}
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n Need) bool { return !wanted(n.ID) })
		s.MadeBy = slices.DeleteFunc(slices.Clone(s.MadeBy), func(id object.ID) bool { return !wanted(id) })
		s.External = nil
		out.Steps = append(out.Steps, s)
	}
	for i := range out.Steps {
		s := &out.Steps[i]
		ready := s.ReadyBy
		for ; ready > s.Wave; ready-- { // the last wave that is left of those until it is ready
			if _, ok := at[ready]; ok {
				break
			}
		}
		s.Wave, s.ReadyBy = at[s.Wave], at[ready]
	}
	return out
}
