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
