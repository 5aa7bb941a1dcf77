package ordering

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
)

// Few waves are made of many by choosing which neighbours share one: none of those
// that an edge connects, as many as there is room for, and of all ways the one that
// joins the least unlike.

// TooFewWavesError says that edges forbid so few waves.
type TooFewWavesError struct {
	Application string // of a stack; ""
	Phase       string
	Asked       int
	Fewest      int      // that the edges allow
	Range       string   // that must hold wave 0 where it is, "-3..3"; "" for none
	Because     []string // the edges that forbid fewer, one for each two waves
}

func (e *TooFewWavesError) Error() string {
	var b strings.Builder
	of := e.Phase
	if e.Application != "" {
		of += " of application " + e.Application
	}
	switch {
	case e.Fewest > e.Asked:
		plain.Fprintf(&b, "%s: %d waves are too few: %d are the fewest, because of these edges; allow %d, or remove some", of, e.Asked, e.Fewest, e.Fewest)
	default:
		plain.Fprintf(&b, "%s: the waves do not fit into %s: resources without a number stay in wave 0, and these edges need more room on one side of it; widen the range", of, e.Range)
	}
	for _, edge := range e.Because {
		plain.Fprintf(&b, "\n  %s", edge)
	}
	return b.String()
}

// narrow finds which of the sets begin a new wave so that there are as few as the
// target asks for, and the number of the first.
func (c *consolidator) narrow(sets []int) (begins []bool, lowest int, err error) {
	n := narrowing{consolidator: c, sets: sets}
	most := c.target.most()
	zero := n.zero()
	if c.target.Range == nil || !c.holdsDefault(sets, zero) {
		begins, _, ok := n.best(0, len(sets), most)
		if !ok {
			return nil, 0, n.tooFew(most)
		}
		lowest = -c.before(sets, begins)
		if r := c.target.Range; r != nil {
			lowest = max(r.Low, min(lowest, r.High+1-count(begins)))
		}
		return begins, lowest, nil
	}
	begins, before, ok := n.around(zero, *c.target.Range)
	if !ok || c.target.Into > 0 && count(begins) > c.target.Into {
		return nil, 0, n.tooFew(most)
	}
	return begins, -before, nil
}

// holdsDefault reports whether a wave holds resources without a number, which stay
// in wave 0.
func (c *consolidator) holdsDefault(sets []int, i int) bool {
	if i >= len(sets) {
		return false
	}
	for _, r := range c.members[sets[i]] {
		if firstKey(c.resources[r], syncWaveAnnotation, hookWeightAnnotation) == "" {
			return true
		}
	}
	return false
}

// narrowing works on the waves of one phase, by their place in a row.
type narrowing struct {
	*consolidator
	sets []int
}

// zero is the place of the old wave 0, or of the first above it.
func (n narrowing) zero() int {
	for i, s := range n.sets {
		if n.consolidator.sets[s].at.wave >= 0 {
			return i
		}
	}
	return len(n.sets)
}

// linked finds an edge that keeps the wave at a place apart from those from another
// place on.
func (n narrowing) linked(from, at int) (way road, ok bool) {
	for i := from; i < at; i++ {
		if way, ok = n.between[[2]int{n.sets[i], n.sets[at]}]; ok {
			return way, true
		}
	}
	return road{}, false
}

// cost is how unlike a wave is to the one before it: nothing when it is proven that
// they may be one, else how far apart their numbers are.
func (n narrowing) cost(at int) int {
	before, s := n.sets[at-1], n.sets[at]
	if n.inert(n.members[before]) && n.inert(n.members[s]) {
		return 0
	}
	return 1 + n.consolidator.sets[s].at.wave - n.consolidator.sets[before].at.wave
}

// best divides the waves from one place to another into at most so many groups that
// no edge runs within, at the least cost, and of the cheapest ways into the fewest.
// begins is for all waves.
func (n narrowing) best(from, to, most int) (begins []bool, cost int, ok bool) {
	begins = make([]bool, len(n.sets))
	if from == to {
		return begins, 0, true
	}
	length := to - from
	const none = -1
	costs := make([][]int, most+1) // by groups and waves: the least cost; none when there is no way
	last := make([][]int, most+1)  // where the last group begins
	for k := range costs {
		costs[k], last[k] = make([]int, length+1), make([]int, length+1)
		for i := range costs[k] {
			costs[k][i] = none
		}
	}
	costs[0][0] = 0
	for k := 1; k <= most; k++ {
		for begin := range length {
			if costs[k-1][begin] == none {
				continue
			}
			sum := costs[k-1][begin]
			for at := begin; at < length; at++ {
				if at > begin {
					if _, apart := n.linked(from+begin, from+at); apart {
						break
					}
					sum += n.cost(from + at)
				}
				if costs[k][at+1] == none || sum < costs[k][at+1] {
					costs[k][at+1], last[k][at+1] = sum, begin
				}
			}
		}
	}
	groups := 0
	for k := 1; k <= most; k++ {
		if costs[k][length] != none && (groups == 0 || costs[k][length] < costs[groups][length]) {
			groups = k
		}
	}
	if groups == 0 {
		return nil, 0, false
	}
	for k, end := groups, length; k > 0; k-- {
		begins[from+last[k][end]] = true
		end = last[k][end]
	}
	return begins, costs[groups][length], true
}

// around divides the waves so that the one at a place is in the group that gets
// number 0; before counts the groups that come before that one.
func (n narrowing) around(zero int, r WaveRange) (begins []bool, before int, ok bool) {
	least := 0
	for first := zero; first >= 0; first-- {
		if _, apart := n.linkedWithin(first, zero); apart {
			break
		}
		for end := zero + 1; end <= len(n.sets); end++ {
			if _, apart := n.linked(first, end-1); apart {
				break
			}
			left, leftCost, leftOK := n.best(0, first, -r.Low)
			right, rightCost, rightOK := n.best(end, len(n.sets), r.High)
			if !leftOK || !rightOK {
				continue
			}
			cost := leftCost + rightCost
			for at := first + 1; at < end; at++ {
				cost += n.cost(at)
			}
			if ok && cost >= least {
				continue
			}
			least, ok, before = cost, true, count(left)
			begins = left
			begins[first] = true
			for i, begin := range right {
				begins[i] = begins[i] || begin
			}
		}
	}
	return begins, before, ok
}

// linkedWithin finds an edge from the wave at a place to one up to another place.
func (n narrowing) linkedWithin(at, to int) (way road, ok bool) {
	for i := at + 1; i <= to; i++ {
		if way, ok = n.between[[2]int{n.sets[at], n.sets[i]}]; ok {
			return way, true
		}
	}
	return road{}, false
}

func count(begins []bool) int {
	groups := 0
	for _, begin := range begins {
		if begin {
			groups++
		}
	}
	return groups
}

// tooFew names edges of which each needs another boundary between waves: there
// cannot be fewer waves.
func (n narrowing) tooFew(asked int) error {
	at := n.consolidator.sets[n.sets[0]]
	e := &TooFewWavesError{Phase: at.at.phase.String(), Asked: asked, Fewest: 1}
	if at.within >= 0 {
		e.Application = n.consolidator.sets[at.within].name
	}
	if r := n.target.Range; r != nil {
		e.Range = fmt.Sprintf("%d..%d", r.Low, r.High)
	}
	first := 0
	for i := range n.sets {
		if way, apart := n.linked(first, i); apart {
			wave := n.consolidator.sets[n.sets[i]].at.wave
			e.Because = append(e.Because, fmt.Sprintf("wave %d comes after wave %d: %s", wave, n.waveOf(way, first, i), n.whyKept(way)))
			e.Fewest, first = e.Fewest+1, i
		}
	}
	return e
}

// waveOf is the number of the wave that a way to the one at a place comes from.
func (n narrowing) waveOf(way road, first, at int) int {
	for i := first; i < at; i++ {
		if found, ok := n.between[[2]int{n.sets[i], n.sets[at]}]; ok && found == way {
			return n.consolidator.sets[n.sets[i]].at.wave
		}
	}
	return n.consolidator.sets[n.sets[first]].at.wave
}
