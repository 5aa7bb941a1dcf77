package loop

import (
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// Graph is a graph of waits.
type Graph struct {
	edges [][]Edge // per node, its dependents
	holds []int    // per node, its remaining waits
}

// Edge makes a node wait until another one has passed a gate.
type Edge struct {
	To     int
	Gate   ordering.Gate
	Yields bool // it may be let go of, see Yield
}

// NewGraph returns a graph whose nodes wait for nothing.
func NewGraph(nodes int) *Graph {
	return &Graph{edges: make([][]Edge, nodes), holds: make([]int, nodes)}
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.holds) }

// Add makes the node of the edge wait until node from has passed its gate.
func (g *Graph) Add(from int, e Edge) {
	g.edges[from] = append(g.edges[from], e)
	g.Hold(e.To)
}

// Yield removes the edges that may be let go of from a node, and returns them. Each of their
// nodes still needs its Release. passed reports whether the node has passed a gate: the nodes
// that waited for that were released.
func (g *Graph) Yield(node int, passed func(ordering.Gate) bool) []Edge {
	var gone, kept []Edge
	for _, e := range g.edges[node] {
		if e.Yields && !passed(e.Gate) {
			gone = append(gone, e)
		} else {
			kept = append(kept, e)
		}
	}
	g.edges[node] = kept
	return gone
}

// Hold makes a node wait until one more Release.
func (g *Graph) Hold(node int) { g.holds[node]++ }

// HoldAll is Hold for every node.
func (g *Graph) HoldAll() {
	for node := range g.holds {
		g.Hold(node)
	}
}

// Release ends one wait of a node. It reports whether that was the last: the node may start.
func (g *Graph) Release(node int) bool {
	g.holds[node]--
	return g.holds[node] == 0
}

// Waits reports whether a node still waits for a Release.
func (g *Graph) Waits(node int) bool { return g.holds[node] > 0 }

// From returns the edges to the nodes that wait, or waited, for a node.
func (g *Graph) From(node int) []Edge { return g.edges[node] }

// Firm returns the nodes that wait for a node that is applied, directly or through others, by
// edges that may not be let go of.
func (g *Graph) Firm(node int) map[int]bool {
	firm := map[int]bool{}
	for walk := []int{node}; len(walk) > 0; walk = walk[1:] {
		for _, e := range g.edges[walk[0]] {
			if passed := walk[0] == node && e.Gate == ordering.Applied; !passed && !e.Yields && !firm[e.To] {
				firm[e.To] = true
				walk = append(walk, e.To)
			}
		}
	}
	return firm
}

// HoldsUntil reports whether another node waits, or waited, until this one has passed the gate.
func (g *Graph) HoldsUntil(node int, gate ordering.Gate) bool {
	for _, e := range g.edges[node] {
		if e.Gate == gate {
			return true
		}
	}
	return false
}

// Dependents returns the nodes that wait for a node, directly or through others, the nearest
// first.
func (g *Graph) Dependents(node int) []int {
	seen, found := map[int]bool{node: true}, []int{node}
	for n := 0; n < len(found); n++ {
		for _, e := range g.edges[found[n]] {
			if !seen[e.To] {
				seen[e.To] = true
				found = append(found, e.To)
			}
		}
	}
	return found[1:]
}

// EachBlocked visits the nodes that cannot start any more because a node failed, directly or
// through others. passed reports whether the node had passed a gate. visit reports whether
// dependents of the visited node are blocked, too.
func (g *Graph) EachBlocked(node int, passed func(ordering.Gate) bool, visit func(node int) bool) {
	seen := map[int]bool{}
	var walk func(node int, passed func(ordering.Gate) bool)
	walk = func(node int, passed func(ordering.Gate) bool) {
		for _, e := range g.edges[node] {
			if passed(e.Gate) || seen[e.To] {
				continue
			}
			seen[e.To] = true
			if visit(e.To) {
				walk(e.To, NoGate)
			}
		}
	}
	walk(node, passed)
}

// NoGate reports that a node has passed no gate.
func NoGate(ordering.Gate) bool { return false }

// Queue holds nodes that may start.
type Queue struct {
	added []int // since the last start
	later []int // the others, the next one at the end
}

// Add adds a node.
func (q *Queue) Add(node int) { q.added = append(q.added, node) }

// Drain starts the nodes in order, nodes that a start adds before the next.
func (q *Queue) Drain(start func(node int)) { q.DrainWhile(func() bool { return true }, start) }

// DrainWhile is Drain as long as there is room for more.
func (q *Queue) DrainWhile(hasRoom func() bool, start func(node int)) {
	for len(q.added)+len(q.later) > 0 && hasRoom() {
		for _, node := range slices.Backward(q.added) {
			q.later = append(q.later, node)
		}
		q.added = q.added[:0]
		last := len(q.later) - 1
		next := q.later[last]
		q.later = q.later[:last]
		start(next)
	}
}
