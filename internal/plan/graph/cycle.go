package graph

import "slices"

// maxCycleSteps limits the edges visited in the search for a shortest cycle.
const maxCycleSteps = 20_000_000

// cycleSearch looks for a cycle of edges in force.
type cycleSearch struct {
	*search
	unsorted []int32 // the vertices that cannot be sorted topologically; ascending
	steps    int     // edges visited
}

// shortest returns a cycle with the fewest declared edges. If it exceeds
// maxCycleSteps, it returns the shortest cycle found so far.
func (c *cycleSearch) shortest() []Edge {
	best := c.through(c.onCycle(), 0)
	for _, v := range c.unsorted {
		if c.steps <= maxCycleSteps {
			if cycle := c.through(v, len(best)); cycle != nil {
				best = cycle
			}
		}
	}
	return best
}

// onCycle walks backwards from an unsorted vertex until it reaches one that it
// has visited, which is on a cycle.
func (c *cycleSearch) onCycle() int32 {
	seen := map[int32]bool{}
	v := c.unsorted[0]
	for !seen[v] {
		seen[v] = true
		for _, i := range c.In.Of(v) {
			from := c.edges[i].From
			if _, found := slices.BinarySearch(c.unsorted, from); found && c.inForce[i] {
				v = from
				break
			}
		}
	}
	return v
}

// through finds the shortest cycle through a vertex by breadth-first search, if it
// has fewer edges than limit; 0 means no limit.
func (c *cycleSearch) through(start int32, limit int) []Edge {
	by, depth := map[int32]int32{}, map[int32]int{}
	queue := []int32{start}
	for next := 0; next < len(queue); next++ {
		v := queue[next]
		if limit > 0 && depth[v]+1 >= limit {
			return nil
		}
		for _, i := range c.Out.Of(v) {
			c.steps++
			to := c.edges[i].To
			if !c.inForce[i] {
				continue
			}
			if to == start {
				return append(c.path(start, v, by), c.edges[i])
			}
			if _, seen := by[to]; !seen {
				by[to], depth[to] = i, depth[v]+1
				queue = append(queue, to)
			}
		}
	}
	return nil
}
