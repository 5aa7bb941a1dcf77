package graph

import (
	"slices"
)

// Edges may contradict each other. Declared edges must be acyclic, or there is
// no plan. Inferred edges are added strongest first, and an edge is dropped if
// it would close a cycle with earlier ones.

// Resolution is the result of resolving a set of edges.
type Resolution struct {
	Kept     []Edge // the slice that was passed if none was dropped
	Dropped  []Contradiction
	Cycles   [][]Edge // of declared edges
	Searched int      // edges visited by searches for contradictions
}

// Contradiction is a dropped edge, and the path from its target to its source
// that contradicts it.
type Contradiction struct {
	Edge Edge
	Path []Edge
}

// Resolve resolves edges between the vertices 0..size-1. isSetVertex reports
// whether a vertex is the entry or exit of a set.
func Resolve(size int, edges []Edge, isSetVertex func(v int32) bool) Resolution {
	r := &resolver{
		search:      &search{Graph: New(size, edges), inForce: make([]bool, len(edges))},
		componentOf: make([]int32, size), position: make([]int, size), waiting: make([]int, size),
	}
	r.declaredPaths = newDeclaredPaths(r.search, isSetVertex)
	var out Resolution
	gone := make([]bool, len(edges))
	for n, vertices := range r.Components() {
		slices.Sort(vertices)
		for _, v := range vertices {
			r.componentOf[v] = int32(n + 1)
		}
		if unsorted := r.sortHard(vertices); len(unsorted) > 0 {
			cycle := cycleSearch{search: r.search, unsorted: unsorted}
			out.Cycles = append(out.Cycles, cycle.shortest())
			continue
		}
		for _, e := range r.addSoft(vertices) {
			gone[e.index] = true
			out.Dropped = append(out.Dropped, Contradiction{edges[e.index], e.path})
		}
	}
	out.Kept = edges
	if len(out.Dropped) > 0 {
		out.Kept = make([]Edge, 0, len(edges)-len(out.Dropped))
		for i, e := range edges {
			if !gone[i] {
				out.Kept = append(out.Kept, e)
			}
		}
	}
	out.Searched = r.visited
	slices.SortFunc(out.Dropped, func(a, b Contradiction) int { return strongestFirst(a.Edge, b.Edge) })
	return out
}

// resolver works on one strongly connected component at a time. Only edges
// within a component can contradict each other.
type resolver struct {
	*search
	componentOf   []int32 // component of each vertex, from 1; 0 if none
	position      []int   // position of each vertex in a topological order of the edges in force; -1 if not sorted yet
	waiting       []int   // per vertex: edges in force from unsorted vertices
	declaredPaths *declaredPaths
}

// sortHard puts the declared edges of a component in force and sorts its vertices
// topologically. It returns the rest if these edges form a cycle.
func (r *resolver) sortHard(vertices []int32) (unsorted []int32) {
	r.each(vertices, func(i int32, e *Edge) {
		if e.Strength == Hard {
			r.inForce[i] = true
			r.waiting[e.To]++
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
		for _, i := range r.Out.Of(order[next]) {
			if to := r.edges[i].To; r.inForce[i] {
				if r.waiting[to]--; r.waiting[to] == 0 {
					order = append(order, to)
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(vertices), func(v int32) bool { return r.position[v] >= 0 })
}

// each visits the edges within a component.
func (r *resolver) each(vertices []int32, visit func(i int32, e *Edge)) {
	for _, v := range vertices {
		for _, i := range r.Out.Of(v) {
			if e := &r.edges[i]; r.componentOf[e.To] == r.componentOf[v] {
				visit(i, e)
			}
		}
	}
}

// refused is an edge that would close a cycle, by index.
type refused struct {
	index int32
	path  []Edge
}

// addSoft puts the inferred edges in force, strongest first, and returns edges
// that would close a cycle.
func (r *resolver) addSoft(vertices []int32) []refused {
	var soft []int32
	r.each(vertices, func(i int32, e *Edge) {
		if e.Strength != Hard {
			soft = append(soft, i)
		}
	})
	slices.SortStableFunc(soft, func(a, b int32) int { return strongestFirst(r.edges[a], r.edges[b]) })
	var out []refused
	for _, i := range soft {
		e := r.edges[i]
		if r.position[e.From] > r.position[e.To] {
			if path := r.insertEdge(e); path != nil {
				out = append(out, refused{i, path})
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
func (r *resolver) insertEdge(e Edge) []Edge {
	if path := r.declaredPaths.find(e.To, e.From); path != nil {
		return path
	}
	low, high := r.position[e.To], r.position[e.From]
	after, by := r.reach(e.To, r.forward(), func(i, to int32) bool { return r.inForce[i] && r.position[to] <= high })
	if _, ok := by[e.From]; ok {
		return r.path(e.To, e.From, by)
	}
	before, _ := r.reach(e.From, r.backward(), func(i, to int32) bool { return r.inForce[i] && r.position[to] >= low })
	r.reorder(before, after)
	return nil
}

// reorder assigns the positions of both lists to the vertices of before, then
// of after, each in its current order.
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
