package sortorder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
)

// Layer is a named set of resources with its position.
type Layer struct {
	Name string // from the field layer, or derived from the selector: "tier=data"
	Rank int    // its position, from 0
	// Needs are the layers that must come before it, transitively, as
	// order/layer. Nil means every layer of a lower rank: the chain of layers
	// is unchanged and the rest comes last.
	Needs     []string
	Applied   bool          // later layers wait until it is applied instead of ready
	Timeout   time.Duration // how long it may take to become ready; 0 if not set
	Unmatched bool          // the layer for unmatched resources
	Listed    bool          // Unmatched, and the order says where such resources go
}

// layerGraph holds the direct needs of each layer before ranks are assigned.
type layerGraph struct {
	order  string
	names  []string   // in the order of sortOrder
	needs  [][]int    // of this order, as indices into names
	others [][]string // of other orders, as order/layer
}

// newLayerGraph returns the chain of layers, each needing the one before it,
// with the author's changes applied.
func newLayerGraph(order string, names []string, changes []layerSpec, problems *Problems) *layerGraph {
	g := &layerGraph{order: order, names: names, needs: make([][]int, len(names)), others: make([][]string, len(names))}
	for i := 1; i < len(names); i++ {
		g.needs[i] = []int{i - 1}
	}
	seen := map[string]bool{}
	for i, change := range changes {
		path := fmt.Sprintf("layers[%d]", i)
		layer := slices.Index(names, change.Name)
		switch {
		case change.Name == "":
			problems.add(plain.Field(path, "name"), "is missing: name a layer of sortOrder")
		case layer < 0:
			problems.add(plain.Field(path, "name"), "is %q, which is not a layer of sortOrder%s", change.Name, nearest.DidYouMean(change.Name, names))
		case seen[change.Name]:
			problems.add(plain.Field(path, "name"), "repeats %q: give each layer one entry", change.Name)
		default:
			seen[change.Name] = true
			g.change(layer, change.DependsOn, plain.Field(path, "dependsOn"), problems)
		}
	}
	return g
}

// change replaces the needs of a layer; a nil list changes nothing.
func (g *layerGraph) change(layer int, dependsOn []string, path string, problems *Problems) {
	if dependsOn == nil {
		return
	}
	g.needs[layer] = nil
	for i, name := range dependsOn {
		at := plain.Item(path, i)
		own := slices.Index(g.names, strings.TrimPrefix(name, g.order+"/"))
		if exact := slices.Index(g.names, name); exact >= 0 {
			own = exact
		}
		order, other, foreign := strings.Cut(name, "/")
		switch {
		case own == layer:
			problems.add(at, "is the layer itself: remove it")
		case own >= 0:
			g.needs[layer] = append(g.needs[layer], own)
		case !foreign:
			problems.add(at, "is %q, which is not a layer of sortOrder (write a layer of another order as order/layer)%s", name, nearest.DidYouMean(name, g.names))
		case order == g.order:
			problems.add(at, "is %q, but this order has no layer %s%s", name, other, nearest.DidYouMean(other, g.names))
		case order == "" || other == "":
			problems.add(at, "is %q: write order/layer", name)
		default:
			g.others[layer] = append(g.others[layer], name)
		}
	}
}

// rank assigns each layer its rank: after all its needs and otherwise in the
// order of sortOrder. A cycle is a problem.
func (g *layerGraph) rank(problems *Problems) []int {
	ranks := make([]int, len(g.names))
	for i := range ranks {
		ranks[i] = -1
	}
	for next := range ranks {
		free := g.firstFree(ranks)
		if free < 0 {
			problems.add("layers", "form a cycle, %s: remove one dependsOn", strings.Join(g.cycle(ranks), " needs "))
			return ranks
		}
		ranks[free] = next
	}
	return ranks
}

// firstFree returns the first layer without a rank whose needs all have one, or
// -1.
func (g *layerGraph) firstFree(ranks []int) int {
	for i, needs := range g.needs {
		if ranks[i] < 0 && !slices.ContainsFunc(needs, func(n int) bool { return ranks[n] < 0 }) {
			return i
		}
	}
	return -1
}

// cycle follows needs among the layers without a rank until one repeats. It
// starts at the first of them, so that the message is deterministic.
func (g *layerGraph) cycle(ranks []int) []string {
	at := slices.Index(ranks, -1)
	var walk []int
	for !slices.Contains(walk, at) {
		walk = append(walk, at)
		at = g.needs[at][slices.IndexFunc(g.needs[at], func(n int) bool { return ranks[n] < 0 })]
	}
	var names []string
	for _, i := range append(walk[slices.Index(walk, at):], at) {
		names = append(names, g.names[i])
	}
	return names
}

// closure returns all needs of a layer, transitively: layers of its own order
// by rank, then of other orders by name.
func (g *layerGraph) closure(layer int, ranks []int) []string {
	own, others := map[int]bool{}, []string{}
	var walk func(int)
	walk = func(i int) {
		others = append(others, g.others[i]...)
		for _, n := range g.needs[i] {
			if !own[n] {
				own[n] = true
				walk(n)
			}
		}
	}
	walk(layer)
	names := []string{}
	for _, i := range byRank(ranks) {
		if own[i] {
			names = append(names, g.order+"/"+g.names[i])
		}
	}
	return append(names, sortedSet(others)...)
}

// byRank returns the indices of ranks, lowest rank first.
func byRank(ranks []int) []int {
	out := make([]int, len(ranks))
	for i, rank := range ranks {
		out[rank] = i
	}
	return out
}
