package sortorder

import "slices"

// maxSteps limits the search for one selector. It counts steps, not time, so
// that results do not depend on the machine.
const maxSteps = 20_000

// search looks for a witness: a resource in a space that no rival matches. Each
// rival must fail at least one of its conditions. This is satisfiability with
// multi-valued variables, solved with unit propagation.
type search struct {
	u     *universe
	steps int          // remaining for the current search
	met   map[int]bool // if not nil, collects the rivals that narrowed the search
}

// rival is a selector that takes precedence.
type rival struct {
	number  int // its index in sortOrder
	choices []choice
}

// outcome is the result of a search.
type outcome int

const (
	none   outcome = iota // every resource of the space is matched
	found                 // the space was narrowed to witnesses
	gaveUp                // the limit was exceeded
)

// witness narrows a copy of s to resources that no rival matches: every
// combination of the remaining values is one.
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

// propagate applies forced choices: a rival that can fail only one of its
// conditions must fail it. It repeats until nothing follows, and returns the
// rivals that may still match; ok is false if one must match.
func (f *search) propagate(s space, rivals []rival) (open []rival, ok bool) {
	open = slices.Clone(rivals)
	for again := true; again; {
		again = false
		kept := open[:0]
		for _, r := range open {
			ways, way, missed := s.waysToMiss(r)
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
			s.drop(way)
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

// waysToMiss returns the number of conditions that a rival can still fail, and
// the last of them; missed reports whether it fails in any case.
func (s space) waysToMiss(r rival) (ways int, way choice, missed bool) {
	for _, c := range r.choices {
		met, failed := s.reach(c)
		if !met {
			return 0, c, true
		}
		if failed {
			ways++
			way = c
		}
	}
	return ways, way, false
}

// branch tries each way in which the most constrained rival can fail. It
// excludes ways that were tried already.
func (f *search) branch(s space, open []rival) (space, outcome) {
	tightest := slices.MinFunc(open, func(a, b rival) int {
		waysA, _, _ := s.waysToMiss(a)
		waysB, _, _ := s.waysToMiss(b)
		return waysA - waysB
	})
	f.note(tightest)
	s = slices.Clone(s)
	for _, c := range tightest.choices {
		if _, failed := s.reach(c); !failed {
			continue
		}
		trial := slices.Clone(s)
		trial.drop(c)
		if out, result := f.witness(trial, open); result != none {
			return out, result
		}
		s.keep(c)
	}
	return nil, none
}
