package ordering

import (
	"slices"
)

// Edges may contradict each other. Those that authors declared must agree, or
// there is no plan. Of the others the strongest are taken first, and each is
// kept unless it closes a circle with those taken before it.

// resolution is what comes of a set of edges.
type resolution struct {
	kept     []edge
	dropped  []contradiction
	cycles   [][]edge // of declared edges
	searched int      // edges that searches for contradictions looked at
}

// contradiction is an edge that was not kept, and the road by which what it
// starts from waits for what it leads to.
type contradiction struct {
	edge edge
	road []edge
}

// resolve takes edges between vertices 0..size-1; isSetVertex reports whether
// one is the entry or the exit of a set.
func resolve(size int, edges []edge, isSetVertex func(v int32) bool) resolution {
	r := &resolver{
		graph: newGraph(size, edges), circleOf: make([]int32, size), position: make([]int, size), waiting: make([]int, size),
		inForce: make([]bool, len(edges)),
	}
	r.roads = newDeclaredRoads(r, isSetVertex)
	var out resolution
	gone := make([]bool, len(edges))
	for n, vertices := range r.circles() {
		slices.Sort(vertices)
		for _, v := range vertices {
			r.circleOf[v] = int32(n + 1)
		}
		if !r.sortHard(vertices) {
			out.cycles = append(out.cycles, r.shortestCycle(vertices))
			continue
		}
		for _, e := range r.addSoft(vertices) {
			gone[e.index] = true
			out.dropped = append(out.dropped, contradiction{edges[e.index], e.road})
		}
	}
	for i, e := range edges {
		if !gone[i] {
			out.kept = append(out.kept, e)
		}
	}
	out.searched = r.searched
	slices.SortFunc(out.dropped, func(a, b contradiction) int { return strongestFirst(a.edge, b.edge) })
	return out
}

// resolver works on one circle after the other: a set of vertices that reach
// each other. Only edges within one can contradict each other.
type resolver struct {
	*graph
	circleOf []int32 // of each vertex; 0: none
	position []int   // of each vertex, in an order of its circle that every edge in force follows; -1: none yet
	waiting  []int   // of each vertex, edges in force from vertices without a position
	inForce  []bool  // of each edge
	roads    *declaredRoads
	searched int
}

// sortHard puts the declared edges of a circle in force and sorts its vertices
// by them. It is false when these edges alone go in a circle.
func (r *resolver) sortHard(vertices []int32) bool {
	r.each(vertices, func(i int32, e *edge) {
		if e.strength == hard {
			r.inForce[i] = true
			r.waiting[e.to]++
		}
	})
	var order []int32
	for _, v := range vertices {
		r.position[v] = -1
		if r.waiting[v] == 0 {
			order = append(order, v)
		}
	}
	for next := 0; next < len(order); next++ {
		r.position[order[next]] = next
		for _, i := range r.out.of(order[next]) {
			if to := r.edges[i].to; r.inForce[i] {
				if r.waiting[to]--; r.waiting[to] == 0 {
					order = append(order, to)
				}
			}
		}
	}
	return len(order) == len(vertices)
}

// each visits the edges within a circle.
func (r *resolver) each(vertices []int32, visit func(i int32, e *edge)) {
	for _, v := range vertices {
		for _, i := range r.out.of(v) {
			if e := &r.edges[i]; r.circleOf[e.to] == r.circleOf[v] {
				visit(i, e)
			}
		}
	}
}

// refused is an edge that closes a circle, by its index.
type refused struct {
	index int32
	road  []edge
}

// addSoft puts the inferred edges in force, strongest first, and gives those
// that cannot be.
func (r *resolver) addSoft(vertices []int32) []refused {
	var soft []int32
	r.each(vertices, func(i int32, e *edge) {
		if e.strength != hard {
			soft = append(soft, i)
		}
	})
	slices.SortStableFunc(soft, func(a, b int32) int { return strongestFirst(r.edges[a], r.edges[b]) })
	var out []refused
	for _, i := range soft {
		e := r.edges[i]
		if r.position[e.from] > r.position[e.to] {
			if road := r.makeRoom(e); road != nil {
				out = append(out, refused{i, road})
				continue
			}
		}
		r.inForce[i] = true
	}
	return out
}

// makeRoom changes the order so that an edge that points back may point
// forward (the algorithm of Pearce and Kelly: only vertices between the two
// ends move). When a road leads from its end to its start already, it gives
// that road and changes nothing.
func (r *resolver) makeRoom(e edge) []edge {
	if road := r.roads.find(e.to, e.from); road != nil {
		return road
	}
	low, high := r.position[e.to], r.position[e.from]
	after, came := r.reach(e.to, r.out, edgeTo, func(p int) bool { return p <= high })
	if _, ok := came[e.from]; ok {
		return r.road(e.to, e.from, came)
	}
	before, _ := r.reach(e.from, r.in, edgeFrom, func(p int) bool { return p >= low })
	r.reorder(before, after)
	return nil
}

// reach lists the vertices that edges in force lead to from a start, nearest
// first, within a range of positions; and by which edge each was found.
func (r *resolver) reach(start int32, edges adjacency, end func(*edge) int32, inRange func(int) bool) ([]int32, map[int32]int32) {
	came := map[int32]int32{start: -1}
	found := []int32{start}
	for next := 0; next < len(found); next++ {
		for _, i := range edges.of(found[next]) {
			r.searched++
			to := end(&r.edges[i])
			if _, seen := came[to]; seen || !r.inForce[i] || !inRange(r.position[to]) {
				continue
			}
			came[to] = i
			found = append(found, to)
		}
	}
	return found, came
}

func (r *resolver) road(from, to int32, came map[int32]int32) []edge {
	var road []edge
	for v := to; v != from; {
		e := r.edges[came[v]]
		road = append(road, e)
		v = e.from
	}
	slices.Reverse(road)
	return road
}

// reorder gives the positions of both lists first to those of before, then to
// those of after, each in the order they had.
func (r *resolver) reorder(before, after []int32) {
	byPosition := func(a, b int32) int { return r.position[a] - r.position[b] }
	slices.SortFunc(before, byPosition)
	slices.SortFunc(after, byPosition)
	moved := slices.Concat(before, after)
	positions := make([]int, len(moved))
	for i, v := range moved {
		positions[i] = r.position[v]
	}
	slices.Sort(positions)
	for i, v := range moved {
		r.position[v] = positions[i]
	}
}
