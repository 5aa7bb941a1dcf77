package ordering

// maxCycleSteps bounds the search for a shortest cycle.
const maxCycleSteps = 20_000_000

// shortestCycle finds a cycle of declared edges with the fewest of them, in a
// circle that sortHard could not sort. Over the bound, it is the shortest of
// those seen.
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

// onCycle walks back from a vertex without a position until it comes to one
// that it has seen.
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

// cycleThrough finds the shortest cycle through a vertex, breadth first, if it
// is shorter than the limit; 0 is no limit.
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
				return append(r.road(start, v, came), r.edges[i])
			}
			if _, seen := came[to]; !seen {
				came[to], depth[to] = i, depth[v]+1
				queue = append(queue, to)
			}
		}
	}
	return nil
}
