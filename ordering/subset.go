package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Filter returns the deletion of the wanted resources, in the same order. Needs
// on other resources and empty waves are dropped, and so is FollowsPlan.
func (d *Deletion) Filter(wanted func(object.ID) bool) *Deletion {
	out := &Deletion{Notes: d.Notes}
	last := -1
	for _, s := range d.Steps {
		if !wanted(s.ID) {
			continue
		}
		if s.Wave != last {
			last = s.Wave
			if out.Waves++; s.Wave < len(d.Names) {
				out.Names = append(out.Names, d.Names[s.Wave])
			}
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

// WithRemaining returns the deletion with the given resources that it does not
// contain yet in an additional last wave, so that a deletion planned from
// incomplete knowledge covers all resources.
func (d *Deletion) WithRemaining(resources []object.ID) *Deletion {
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

// Filter returns the plan of the wanted resources, in the same order. Their needs
// on other and on external resources are dropped, and so are empty waves, hooks
// and notes.
func (p *Plan) Filter(wanted func(object.ID) bool) *Plan {
	out := &Plan{Layers: p.Layers, OrderSource: p.OrderSource, OrderIgnored: p.OrderIgnored}
	at := map[int]int{} // new index of each remaining wave
	for _, s := range p.Steps {
		if !wanted(s.ID) {
			continue
		}
		if _, ok := at[s.Wave]; !ok {
			at[s.Wave] = len(out.Waves)
			out.Waves = append(out.Waves, p.Waves[s.Wave])
		}
		s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(n Need) bool { return !wanted(n.ID) })
		s.ProvidedBy = slices.DeleteFunc(slices.Clone(s.ProvidedBy), func(id object.ID) bool { return !wanted(id) })
		s.External = nil
		out.Steps = append(out.Steps, s)
	}
	for i := range out.Steps {
		s := &out.Steps[i]
		remaining := func(wave int) int { // the last remaining wave until then
			for ; wave > s.Wave; wave-- {
				if _, ok := at[wave]; ok {
					break
				}
			}
			return at[wave]
		}
		s.Wave, s.Due, s.ReadyBy = at[s.Wave], remaining(s.Due), remaining(s.ReadyBy)
	}
	return out
}
