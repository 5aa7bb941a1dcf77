package ordering

import "github.com/ordapply/ordapply/object"

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
