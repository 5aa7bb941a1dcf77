package consolidate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/edges"
)

// Narrowing merges neighbouring waves. Waves that an edge connects stay apart,
// the number of waves meets the limit, and of all solutions it takes the one
// that merges the most similar waves.

// TooFewWavesError reports that merging neighbouring waves leaves more than the target allows.
type TooFewWavesError struct {
	Application string   // of a stack; "" if none
	Phase       string   // "PreSync", "Sync", "PostSync"
	Limit       int      // the number of waves that the target allows
	Fewest      int      // the number of waves that remain when neighbours are merged
	Levels      int      // the number of waves by the longest path of edges: no fewer are possible
	Fits        bool     // these levels fit the target
	Range       string   // the range that must contain wave 0, such as "-3..3"; "" for none
	Because     []string // the edges that prevent fewer waves, one for each boundary
}

// Error returns one line with the remedy, and one for each edge of Because.
func (e *TooFewWavesError) Error() string {
	var b strings.Builder
	of := e.Phase
	if e.Application != "" {
		of += " of application " + e.Application
	}
	switch {
	case e.Fits:
		plain.Fprintf(&b, "%s: merging only neighbouring waves, %d remain, since these edges lie between them; add --assume-independent to number waves by the longest path of edges: that takes %d, and may change the order of waves that no edge connects", of, e.Fewest, e.Levels)
	case e.Levels > e.Limit:
		plain.Fprintf(&b, "%s: the limit of %s is too low: the longest path of edges needs %d, and merging only neighbouring waves leaves %d, since these edges lie between them; allow more, or remove some edges", of, plain.Count(e.Limit, "wave"), e.Levels, e.Fewest)
	default:
		plain.Fprintf(&b, "%s: the waves do not fit into %s: resources without a wave stay in wave 0, and these edges need more waves before or after it; widen the range", of, e.Range)
	}
	for _, edge := range e.Because {
		plain.Fprintf(&b, "\n  %s", edge)
	}
	return b.String()
}

// narrow returns which sets begin a new wave so that the target's limit is met,
// and the number of the first wave.
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

// holdsDefault reports whether a wave has resources without a number, which
// stay in wave 0.
func (c *consolidator) holdsDefault(sets []int, i int) bool {
	return i < len(sets) && slices.ContainsFunc(c.members[sets[i]], func(r int) bool { return !edges.HasWave(c.Resources[r]) })
}

// narrowing works on the waves of one phase, identified by position.
type narrowing struct {
	*consolidator
	sets []int
}

// zero returns the position of the old wave 0, or of the first wave above it.
func (n narrowing) zero() int {
	for i, s := range n.sets {
		if n.Sets[s].At.Wave >= 0 {
			return i
		}
	}
	return len(n.sets)
}

// linked returns the first wave at positions from..at-1 with a path to the wave at
// position at.
func (n narrowing) linked(from, at int) (first int, ok bool) {
	for i := from; i < at; i++ {
		if _, ok := n.between[[2]int{n.sets[i], n.sets[at]}]; ok {
			return i, true
		}
	}
	return 0, false
}

// cost returns how different a wave is from the one before it: 0 if they are
// proven independent, else the distance of their numbers plus one.
func (n narrowing) cost(at int) int {
	before, s := n.sets[at-1], n.sets[at]
	if n.IsInert(n.members[before]) && n.IsInert(n.members[s]) {
		return 0
	}
	return 1 + n.Sets[s].At.Wave - n.Sets[before].At.Wave
}

// best divides the waves at positions from..to-1 into at most most groups with
// no edge inside a group, at the lowest cost; among equal costs, into the
// fewest groups, of sizes as equal as possible. begins has an entry for every wave of the
// phase.
func (n narrowing) best(from, to, most int) (begins []bool, cost int, ok bool) {
	begins = make([]bool, len(n.sets))
	if from == to {
		return begins, 0, true
	}
	length := to - from
	const none = -1
	costs := make([][]int, most+1)   // by groups and waves: the lowest cost, or none
	squares := make([][]int, most+1) // of the sizes of these groups
	last := make([][]int, most+1)    // where the last group begins
	for k := range costs {
		costs[k], squares[k], last[k] = make([]int, length+1), make([]int, length+1), make([]int, length+1)
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
				size := at + 1 - begin
				square, known := squares[k-1][begin]+size*size, costs[k][at+1]
				if known == none || sum < known || sum == known && square < squares[k][at+1] {
					costs[k][at+1], squares[k][at+1], last[k][at+1] = sum, square, begin
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

// around divides the waves so that the one at position zero is in the group
// with number 0. before is the number of groups before that one.
func (n narrowing) around(zero int, r WaveRange) (begins []bool, before int, ok bool) {
	least := 0
	for first := zero; first >= 0; first-- {
		apart := func(s int) bool { _, is := n.between[[2]int{n.sets[first], s}]; return is }
		if slices.ContainsFunc(n.sets[first+1:zero+1], apart) {
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

func count(begins []bool) int {
	groups := 0
	for _, begin := range begins {
		if begin {
			groups++
		}
	}
	return groups
}

// tooFew returns an error that names one edge for each boundary that is needed when
// neighbours are merged.
func (n narrowing) tooFew(limit int) error {
	at := n.Sets[n.sets[0]]
	e := &TooFewWavesError{Phase: at.At.Phase.String(), Limit: limit, Fewest: 1}
	if at.Within >= 0 {
		e.Application = n.Sets[at.Within].Name
	}
	if r := n.target.Range; r != nil {
		e.Range = fmt.Sprintf("%d..%d", r.Low, r.High)
	}
	levels := n.levels()
	e.Levels = slices.Max(levels) + 1
	_, e.Fits = n.lowest(levels)
	first := 0
	for i := range n.sets {
		if from, apart := n.linked(first, i); apart {
			before, after := n.sets[from], n.sets[i]
			e.Because = append(e.Because, fmt.Sprintf("wave %d comes after wave %d: %s", n.Sets[after].At.Wave, n.Sets[before].At.Wave, n.keptReason(n.between[[2]int{before, after}])))
			e.Fewest, first = e.Fewest+1, i
		}
	}
	return e
}
