package ordering

// graph is a directed graph over the vertices 0..size-1, indexed from both ends
// of its edges.
type graph struct {
	size    int
	edges   []edge
	out, in adjacency
}

// adjacency lists the edges of each vertex, as indices.
type adjacency struct{ first, edges []int32 }

func (a adjacency) of(v int32) []int32 { return a.edges[a.first[v]:a.first[v+1]] }

func newGraph(size int, edges []edge) *graph {
	return &graph{
		size: size, edges: edges,
		out: adjacent(size, edges, func(e *edge) int32 { return e.from }),
		in:  adjacent(size, edges, func(e *edge) int32 { return e.to }),
	}
}

// adjacent groups the edges by one of their ends.
func adjacent(size int, edges []edge, end func(*edge) int32) adjacency {
	a := adjacency{make([]int32, size+1), make([]int32, len(edges))}
	for i := range edges {
		a.first[end(&edges[i])+1]++
	}
	for v := range size {
		a.first[v+1] += a.first[v]
	}
	next := append([]int32{}, a.first...)
	for i := range edges {
		v := end(&edges[i])
		a.edges[next[v]] = int32(i)
		next[v]++
	}
	return a
}

// ranks returns the weight of the heaviest path to each vertex, and a
// topological order. The graph must be acyclic.
func (g *graph) ranks() (rank []int, order []int32) {
	waiting := make([]int32, g.size)
	for i := range g.edges {
		waiting[g.edges[i].to]++
	}
	rank = make([]int, g.size)
	order = make([]int32, 0, g.size)
	for v, n := range waiting {
		if n == 0 {
			order = append(order, int32(v))
		}
	}
	for next := 0; next < len(order); next++ {
		v := order[next]
		for _, i := range g.out.of(v) {
			e := &g.edges[i]
			rank[e.to] = max(rank[e.to], rank[v]+int(e.weight))
			if waiting[e.to]--; waiting[e.to] == 0 {
				order = append(order, e.to)
			}
		}
	}
	return rank, order
}

// components returns the strongly connected components of two or more vertices
// (Tarjan), in topological order.
func (g *graph) components() [][]int32 {
	t := tarjan{graph: g, seen: make([]int32, g.size), low: make([]int32, g.size), onStack: make([]bool, g.size)}
	for v := range int32(g.size) {
		if t.seen[v] == 0 {
			t.visit(v)
		}
	}
	for i, j := 0, len(t.found)-1; i < j; i, j = i+1, j-1 {
		t.found[i], t.found[j] = t.found[j], t.found[i]
	}
	return t.found
}

type tarjan struct {
	*graph
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
		out := t.out.of(f.v)
		if int(f.next) == len(out) {
			t.leave(f.v)
			walk = walk[:len(walk)-1]
			if len(walk) > 0 {
				above := walk[len(walk)-1].v
				t.low[above] = min(t.low[above], t.low[f.v])
			}
			continue
		}
		to := t.edges[out[f.next]].to
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
		t.found = append(t.found, append([]int32{}, t.stack[from:]...))
	}
	t.stack = t.stack[:from]
}
