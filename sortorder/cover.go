package sortorder

import "slices"

// cover returns rivals that together match all of s, given that all of them do. None of
// them can be left out.
func (f *search) cover(s space, rivals []rival) []rival {
	rivals = f.refutation(s, rivals)
	for i := len(rivals) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(rivals), i, i+1); f.covers(fewer, s) {
			rivals = fewer
		}
	}
	return rivals
}

// refutation returns the rivals that the search for a witness used to find none.
func (f *search) refutation(s space, rivals []rival) []rival {
	f.met = map[int]bool{}
	defer func() { f.met = nil }()
	if !f.covers(rivals, s) {
		return rivals
	}
	return slices.DeleteFunc(slices.Clone(rivals), func(r rival) bool { return !f.met[r.number] })
}

// covers reports whether the rivals are proven to match all of the target.
func (f *search) covers(rivals []rival, target space) bool {
	f.steps = maxSteps
	_, result := f.witness(target, rivals)
	return result == none
}
