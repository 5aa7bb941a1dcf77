package ordering

// maxCycleSteps limits the edges visited in the search for a shortest cycle.
const maxCycleSteps = 20_000_000

// shortestCycle returns a cycle with the fewest declared edges among vertices
// that sortHard could not sort. If it exceeds maxCycleSteps, it returns the
// shortest cycle found so far.
func (r *resolver) shortestCycle(vertices []int32) []edge {
	steps := 0
	best := r.cycleThrough(r.onCycle(vertices), 0, &steps)
	for _, v := range vertices {
		if r.position[v] < 0 && steps <= maxCycleSteps {
			if cycle := r.cycleThrough(v, len(best), &steps); cycle != nil {
				best = cycle
			}
		}
	}
	return best
}

// onCycle walks backwards from an unsorted vertex until it reaches one that it
// has visited, which is on a cycle.
func (r *resolver) onCycle(vertices []int32) int32 {
	seen := map[int32]bool{}
	v := vertices[0]
	for _, w := range vertices {
		if r.position[w] < 0 {
			v = w
			break
		}
	}
	for !seen[v] {
		seen[v] = true
		for _, i := range r.in.of(v) {
			if from := r.edges[i].from; r.inForce[i] && r.position[from] < 0 {
				v = from
				break
			}
		}
	}
	return v
}

// cycleThrough finds the shortest cycle through a vertex by breadth-first
// search, if it has fewer edges than limit; 0 means no limit.
func (r *resolver) cycleThrough(start int32, limit int, steps *int) []edge {
	came, depth := map[int32]int32{}, map[int32]int{}
	queue := []int32{start}
	for next := 0; next < len(queue); next++ {
		v := queue[next]
		if limit > 0 && depth[v]+1 >= limit {
			return nil
		}
		for _, i := range r.out.of(v) {
			*steps++
			to := r.edges[i].to
			if !r.inForce[i] {
				continue
			}
			if to == start {
				return append(r.path(start, v, came), r.edges[i])
			}
			if _, seen := came[to]; !seen {
				came[to], depth[to] = i, depth[v]+1
				queue = append(queue, to)
			}
		}
	}
	return nil
}
