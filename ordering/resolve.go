package ordering

import (
	"slices"
)

// Edges may contradict each other. Declared edges must be acyclic, or there is
// no plan. Inferred edges are added strongest first, and an edge is dropped if
// it would close a cycle with those added before it.

// resolution is the result of resolving a set of edges.
type resolution struct {
	kept     []edge
	dropped  []contradiction
	cycles   [][]edge // of declared edges
	searched int      // edges visited by searches for contradictions
}

// contradiction is a dropped edge, and the path from its target to its source
// that contradicts it.
type contradiction struct {
	edge edge
	path []edge
}

// resolve resolves edges between the vertices 0..size-1. isSetVertex reports
// whether a vertex is the entry or exit of a set.
func resolve(size int, edges []edge, isSetVertex func(v int32) bool) resolution {
	r := &resolver{
		graph: newGraph(size, edges), componentOf: make([]int32, size), position: make([]int, size), stackWaiters: make([]int, size),
		inForce: make([]bool, len(edges)),
	}
	r.declaredPaths = newDeclaredPaths(r, isSetVertex)
	var out resolution
	gone := make([]bool, len(edges))
	for n, vertices := range r.components() {
		slices.Sort(vertices)
		for _, v := range vertices {
			r.componentOf[v] = int32(n + 1)
		}
		if !r.sortHard(vertices) {
			out.cycles = append(out.cycles, r.shortestCycle(vertices))
			continue
		}
		for _, e := range r.addSoft(vertices) {
			gone[e.index] = true
			out.dropped = append(out.dropped, contradiction{edges[e.index], e.path})
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

// resolver works on one strongly connected component at a time. Only edges
// within a component can contradict each other.
type resolver struct {
	*graph
	componentOf   []int32 // component of each vertex, from 1; 0 if none
	position      []int   // position of each vertex in a topological order of the edges in force; -1 if not sorted yet
	stackWaiters  []int   // per vertex: edges in force from unsorted vertices
	inForce       []bool  // per edge
	declaredPaths *declaredPaths
	searched      int
}

// sortHard puts the declared edges of a component in force and sorts its
// vertices topologically. It returns false if these edges form a cycle.
func (r *resolver) sortHard(vertices []int32) bool {
	r.each(vertices, func(i int32, e *edge) {
		if e.strength == hard {
			r.inForce[i] = true
			r.stackWaiters[e.to]++
		}
	})
	var order []int32
	for _, v := range vertices {
		r.position[v] = -1
		if r.stackWaiters[v] == 0 {
			order = append(order, v)
		}
	}
	for next := 0; next < len(order); next++ {
		r.position[order[next]] = next
		for _, i := range r.out.of(order[next]) {
			if to := r.edges[i].to; r.inForce[i] {
				if r.stackWaiters[to]--; r.stackWaiters[to] == 0 {
					order = append(order, to)
				}
			}
		}
	}
	return len(order) == len(vertices)
}

// each visits the edges within a component.
func (r *resolver) each(vertices []int32, visit func(i int32, e *edge)) {
	for _, v := range vertices {
		for _, i := range r.out.of(v) {
			if e := &r.edges[i]; r.componentOf[e.to] == r.componentOf[v] {
				visit(i, e)
			}
		}
	}
}

// refused is an edge that would close a cycle, by index.
type refused struct {
	index int32
	path  []edge
}

// addSoft puts the inferred edges in force, strongest first, and returns those
// that would close a cycle.
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
			if road := r.insertEdge(e); road != nil {
				out = append(out, refused{i, road})
				continue
			}
		}
		r.inForce[i] = true
	}
	return out
}

// insertEdge updates the topological order for a new edge, moving only vertices
// between its two ends (Pearce and Kelly). If the edge would close a cycle, it
// returns the path from the edge's target to its source and changes nothing.
func (r *resolver) insertEdge(e edge) []edge {
	if road := r.declaredPaths.find(e.to, e.from); road != nil {
		return road
	}
	low, high := r.position[e.to], r.position[e.from]
	after, came := r.reach(e.to, r.out, edgeTo, func(p int) bool { return p <= high })
	if _, ok := came[e.from]; ok {
		return r.path(e.to, e.from, came)
	}
	before, _ := r.reach(e.from, r.in, edgeFrom, func(p int) bool { return p >= low })
	r.reorder(before, after)
	return nil
}

// reach returns the vertices reachable from start by edges in force, within a
// range of positions and nearest first, and the edge by which each was reached.
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

func (r *resolver) path(from, to int32, came map[int32]int32) []edge {
	var road []edge
	for v := to; v != from; {
		e := r.edges[came[v]]
		road = append(road, e)
		v = e.from
	}
	slices.Reverse(road)
	return road
}

// reorder assigns the positions of both lists to the vertices of before, then
// to those of after, each in its current order.
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
