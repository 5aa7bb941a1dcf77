package sortorder

import "slices"

// maxSteps bounds the search for one selector. It counts steps, never time, so
// that a verdict does not depend on the machine.
const maxSteps = 20_000

// search looks for a witness: a resource in a space that no rival matches. Each
// of them must miss by at least one of its conditions. That is satisfiability
// with keys of many values, searched with unit propagation.
type search struct {
	u     *universe
	steps int          // left for the question at hand
	tries int          // left, over all questions, to find smaller covers
	met   map[int]bool // when not nil, collects the rivals that narrowed the search
}

// rival is a selector that goes first.
type rival struct {
	number  int // its place in sortOrder
	choices []choice
}

// outcome of a search.
type outcome int

const (
	none   outcome = iota // every resource of the space is matched
	found                 // the space was narrowed to witnesses
	gaveUp                // over the bound
)

// witness narrows a copy of s to resources that no rival matches. Any choice of
// a value a key, among those left, is one.
func (f *search) witness(s space, rivals []rival) (space, outcome) {
	if f.steps--; f.steps < 0 {
		return nil, gaveUp
	}
	s = slices.Clone(s)
	open, ok := f.propagate(s, rivals)
	switch {
	case !ok:
		return nil, none
	case len(open) == 0:
		return s, found
	}
	return f.branch(s, open)
}

// propagate follows what must be: a rival that can miss by one condition only
// does miss by it. It keeps at it until nothing follows, and returns the rivals
// that may still match; ok is false when one must.
func (f *search) propagate(s space, rivals []rival) (open []rival, ok bool) {
	open = slices.Clone(rivals)
	for again := true; again; {
		again = false
		kept := open[:0]
		for _, r := range open {
			ways, way, missed := f.waysToMiss(s, r)
			if missed {
				continue
			}
			if ways > 1 {
				kept = append(kept, r)
				continue
			}
			f.note(r)
			if ways == 0 {
				return nil, false
			}
			drop(f.u.part(s, way.key), way.want)
			again = true
		}
		open = kept
	}
	return open, true
}

func (f *search) note(r rival) {
	if f.met != nil {
		f.met[r.number] = true
	}
}

// waysToMiss counts the conditions by which a rival can still miss, with the
// last of them; missed means that it misses whatever is chosen.
func (f *search) waysToMiss(s space, r rival) (ways int, way choice, missed bool) {
	for _, c := range r.choices {
		possible := f.u.part(s, c.key)
		if disjoint(possible, c.want) {
			return 0, c, true
		}
		if !inside(possible, c.want) {
			ways++
			way = c
		}
	}
	return ways, way, false
}

// branch tries each way in which the most constrained rival can miss. Ways
// already tried are excluded from later ones, so that none is tried twice.
func (f *search) branch(s space, open []rival) (space, outcome) {
	tightest := slices.MinFunc(open, func(a, b rival) int {
		waysA, _, _ := f.waysToMiss(s, a)
		waysB, _, _ := f.waysToMiss(s, b)
		return waysA - waysB
	})
	f.note(tightest)
	s = slices.Clone(s)
	for _, c := range tightest.choices {
		if inside(f.u.part(s, c.key), c.want) {
			continue
		}
		trial := slices.Clone(s)
		drop(f.u.part(trial, c.key), c.want)
		if out, result := f.witness(trial, open); result != none {
			return out, result
		}
		keep(f.u.part(s, c.key), c.want)
	}
	return nil, none
}
