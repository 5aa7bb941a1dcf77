package graph

import "slices"

// Graph is a directed graph over the vertices 0..size-1, indexed from both ends
// of its edges.
type Graph struct {
	Size    int // the number of vertices
	edges   []Edge
	Out, In adjacency
}

// adjacency lists the edges of each vertex, as indices.
type adjacency struct{ first, edges []int32 }

// Of returns the edges of a vertex.
func (a adjacency) Of(v int32) []int32 { return a.edges[a.first[v]:a.first[v+1]] }

// New returns the graph of edges between the vertices 0..size-1.
func New(size int, edges []Edge) *Graph {
	return &Graph{
		Size: size, edges: edges,
		Out: adjacent(size, edges, func(e *Edge) int32 { return e.From }),
		In:  adjacent(size, edges, func(e *Edge) int32 { return e.To }),
	}
}

// adjacent groups the edges by one of their ends.
func adjacent(size int, edges []Edge, end func(*Edge) int32) adjacency {
	a := adjacency{make([]int32, size+1), make([]int32, len(edges))}
	for i := range edges {
		a.first[end(&edges[i])+1]++
	}
	for v := range size {
		a.first[v+1] += a.first[v]
	}
	next := slices.Clone(a.first)
	for i := range edges {
		v := end(&edges[i])
		a.edges[next[v]] = int32(i)
		next[v]++
	}
	return a
}

// Ranks returns the weight of the heaviest path to each vertex, and a
// topological order. The graph must be acyclic.
func (g *Graph) Ranks() (rank []int, order []int32) {
	waiting := make([]int32, g.Size)
	for i := range g.edges {
		waiting[g.edges[i].To]++
	}
	rank = make([]int, g.Size)
	order = make([]int32, 0, g.Size)
	for v, n := range waiting {
		if n == 0 {
			order = append(order, int32(v))
		}
	}
	for next := 0; next < len(order); next++ {
		v := order[next]
		for _, i := range g.Out.Of(v) {
			e := &g.edges[i]
			rank[e.To] = max(rank[e.To], rank[v]+int(e.Weight))
			if waiting[e.To]--; waiting[e.To] == 0 {
				order = append(order, e.To)
			}
		}
	}
	return rank, order
}

// Components returns the strongly connected components of two or more vertices
// (Tarjan), in topological order.
func (g *Graph) Components() [][]int32 {
	t := tarjan{Graph: g, seen: make([]int32, g.Size), low: make([]int32, g.Size), onStack: make([]bool, g.Size)}
	for v := range int32(g.Size) {
		if t.seen[v] == 0 {
			t.visit(v)
		}
	}
	slices.Reverse(t.found)
	return t.found
}

type tarjan struct {
	*Graph
	seen, low []int32 // visit number; 0 means not visited
	count     int32
	onStack   []bool
	stack     []int32
	found     [][]int32
}

// visit runs a depth-first search from a vertex. It keeps its own stack instead
// of recursing.
func (t *tarjan) visit(root int32) {
	type frame struct{ v, next int32 }
	walk := []frame{{v: root}}
	t.enter(root)
	for len(walk) > 0 {
		f := &walk[len(walk)-1]
		out := t.Out.Of(f.v)
		if int(f.next) == len(out) {
			t.leave(f.v)
			walk = walk[:len(walk)-1]
			if len(walk) > 0 {
				above := walk[len(walk)-1].v
				t.low[above] = min(t.low[above], t.low[f.v])
			}
			continue
		}
		to := t.edges[out[f.next]].To
		f.next++
		switch {
		case t.seen[to] == 0:
			t.enter(to)
			walk = append(walk, frame{v: to})
		case t.onStack[to]:
			t.low[f.v] = min(t.low[f.v], t.seen[to])
		}
	}
}

func (t *tarjan) enter(v int32) {
	t.count++
	t.seen[v], t.low[v] = t.count, t.count
	t.stack = append(t.stack, v)
	t.onStack[v] = true
}

// leave pops a finished component off the stack.
func (t *tarjan) leave(v int32) {
	if t.low[v] != t.seen[v] {
		return
	}
	from := len(t.stack) - 1
	for t.stack[from] != v {
		from--
	}
	for _, member := range t.stack[from:] {
		t.onStack[member] = false
	}
	if len(t.stack)-from > 1 {
		t.found = append(t.found, slices.Clone(t.stack[from:]))
	}
	t.stack = t.stack[:from]
}
