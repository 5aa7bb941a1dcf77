package consolidate

import "slices"

// Where merging neighbouring waves leaves too many, waves are numbered by the longest path of
// edges that leads to them. This keeps every edge with the fewest waves that are possible,
// and changes the order of waves that no edge connects: only if the target asks for it.

// levels returns the length of the longest path of edges to each wave.
func (n narrowing) levels() []int {
	levels := make([]int, len(n.sets))
	for at, s := range n.sets {
		for i, before := range n.sets[:at] {
			if _, linked := n.between[[2]int{before, s}]; linked {
				levels[at] = max(levels[at], levels[i]+1)
			}
		}
	}
	return levels
}

// lowest returns the new number of the first level; false if the levels do not fit the target.
func (n narrowing) lowest(levels []int) (lowest int, ok bool) {
	zero, last := n.zero(), slices.Max(levels)
	lowest = -(last + 1)
	if zero < len(levels) {
		lowest = -levels[zero]
	}
	r := n.target.Range
	if r != nil && !n.holdsDefault(n.sets, zero) {
		lowest = max(r.Low, min(lowest, r.High-last))
	}
	return lowest, last < n.target.most() && (r == nil || lowest >= r.Low && lowest+last <= r.High)
}

// byLevels assigns the waves of a phase the numbers of their levels; ok is false if these do
// not fit the target. swapped counts the pairs of waves that change their order.
func (c *consolidator) byLevels(sets []int) (waves []Wave, swapped int, ok bool) {
	n := narrowing{consolidator: c, sets: sets}
	levels := n.levels()
	lowest, ok := n.lowest(levels)
	if !ok {
		return nil, 0, false
	}
	for at, s := range sets {
		c.to[s] = lowest + levels[at]
		wave := c.wave(s)
		wave.Boundary = BoundaryFirst
		for i, before := range sets[:at] {
			way, linked := c.between[[2]int{before, s}]
			if linked && levels[i] == levels[at]-1 {
				wave.Boundary, wave.Because = BoundaryKept, c.keptReason(way)
			}
			if levels[i] > levels[at] {
				swapped++
			}
		}
		waves = append(waves, wave)
	}
	return waves, swapped, true
}
