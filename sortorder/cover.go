package sortorder

import "slices"

// maxTries limits, for one order, the search for covers smaller than the first
// one found. It only affects the length of messages, and only for orders with
// very many errors.
const maxTries = 200

// smallestCover returns the fewest rivals that together match all of s, given
// that all of them do. It starts from an irreducible cover and then proves it
// minimal or finds a smaller one, within its tries.
//
// The proof uses resources that a candidate set misses: every cover contains
// one of the rivals that match such a resource. The smallest set with one rival
// for each of these demands is either a cover or yields another demand.
func (f *search) smallestCover(s space, rivals []rival) []int {
	best := f.irreducible(s, f.refutation(s, rivals))
	f.steps = maxSteps
	var demands [][]int
	for ; len(best) > 1 && f.tries > 0; f.tries-- {
		candidate, ok := f.smallestMeeting(demands, nil, len(best))
		if !ok || f.steps < 0 {
			break
		}
		left, result := f.witness(s, chosen(rivals, candidate))
		switch result {
		case none:
			return numbers(chosen(rivals, candidate))
		case gaveUp:
			return numbers(best)
		}
		demands = append(demands, f.matching(f.example(left, rivals), rivals))
	}
	return numbers(best)
}

// refutation returns the rivals that the search for a witness used to find
// none.
func (f *search) refutation(s space, rivals []rival) []rival {
	f.steps, f.met = maxSteps, map[int]bool{}
	_, result := f.witness(s, rivals)
	met := f.met
	f.met = nil
	if result != none {
		return rivals
	}
	return slices.DeleteFunc(slices.Clone(rivals), func(r rival) bool { return !met[r.number] })
}

// irreducible returns a cover of s from which no rival can be removed.
func (f *search) irreducible(s space, rivals []rival) []rival {
	for i := len(rivals) - 1; i >= 0; i-- {
		fewer := slices.Delete(slices.Clone(rivals), i, i+1)
		f.steps = maxSteps
		if _, result := f.witness(s, fewer); result == none {
			rivals = fewer
		}
	}
	return rivals
}

// smallestMeeting returns the smallest set of indices with a member of every
// demand, if it is smaller than limit.
func (f *search) smallestMeeting(demands [][]int, have []int, limit int) (best []int, ok bool) {
	if len(have) >= limit {
		return nil, false
	}
	unmet := slices.IndexFunc(demands, func(d []int) bool {
		return !slices.ContainsFunc(d, func(n int) bool { return slices.Contains(have, n) })
	})
	if unmet < 0 {
		return slices.Clone(have), true
	}
	for _, n := range demands[unmet] {
		if f.steps--; f.steps < 0 {
			break
		}
		if set, smaller := f.smallestMeeting(demands, append(slices.Clip(have), n), limit); smaller {
			best, limit, ok = set, len(set), true
		}
	}
	return best, ok
}

// example narrows a space to one resource that few rivals match: for each key
// it takes the value that the fewest remaining rivals accept.
func (f *search) example(s space, rivals []rival) space {
	one := make(space, len(s))
	left := rivals
	for i := range f.u.keys {
		from, bit := f.u.part(s, i), make([]uint64, len(f.u.part(s, i)))
		var best []rival
		found := false
		for n := len(f.u.values[i]) + 1; n >= 0; n-- {
			if from[n/wordBits]&(1<<(n%wordBits)) == 0 {
				continue
			}
			clear(bit)
			bit[n/wordBits] = 1 << (n % wordBits)
			wanting := rivalsAccepting(left, i, bit)
			if !found || len(wanting) < len(best) {
				best, found = wanting, true
				copy(f.u.part(one, i), bit)
			}
		}
		left = best
	}
	return one
}

// rivalsAccepting returns the rivals that accept a value of key i.
func rivalsAccepting(rivals []rival, i int, bit []uint64) []rival {
	return slices.DeleteFunc(slices.Clone(rivals), func(r rival) bool {
		return slices.ContainsFunc(r.choices, func(c choice) bool { return c.key == i && disjoint(c.want, bit) })
	})
}

// matching returns the indices of the rivals that match a resource.
func (f *search) matching(one space, rivals []rival) []int {
	var out []int
	for n, r := range rivals {
		if !slices.ContainsFunc(r.choices, func(c choice) bool { return disjoint(f.u.part(one, c.key), c.want) }) {
			out = append(out, n)
		}
	}
	return out
}

func chosen(rivals []rival, indices []int) []rival {
	out := make([]rival, len(indices))
	for i, n := range slices.Sorted(slices.Values(indices)) {
		out[i] = rivals[n]
	}
	return out
}

func numbers(rivals []rival) []int {
	out := make([]int, len(rivals))
	for i, r := range rivals {
		out[i] = r.number
	}
	return out
}
