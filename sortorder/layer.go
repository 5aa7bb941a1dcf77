package sortorder

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Layer is a named set of resources and its place among the others.
type Layer struct {
	Name string
	Rank int // its place, from 0
	// Needs names every layer that must come before it, transitively, as
	// order/layer. nil: every layer of a lower rank, because the author changed
	// nothing about the chain, and the rest comes last.
	Needs     []string
	Applied   bool          // later layers wait until it is applied; else until it is ready
	Timeout   time.Duration // how long it may take to become ready; 0: not said
	Unmatched bool          // the place of what no selector matches
}

// layerGraph is what each layer needs directly, before ranks are given.
type layerGraph struct {
	order  string
	names  []string   // in the order of sortOrder
	needs  [][]int    // of this order, indices into names
	others [][]string // of other orders, as order/layer
}

// newLayerGraph is the chain, each layer needing the one before it, changed as
// the author says.
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
			problems.add(join(path, "name"), "is missing: name a layer of sortOrder")
		case layer < 0:
			problems.add(join(path, "name"), "is %q, which is no layer of sortOrder%s", change.Name, didYouMean(change.Name, names))
		case seen[change.Name]:
			problems.add(join(path, "name"), "is %q again: give each layer one entry", change.Name)
		default:
			seen[change.Name] = true
			g.change(layer, change.DependsOn, join(path, "dependsOn"), problems)
		}
	}
	return g
}

// change replaces what a layer needs; an absent list changes nothing.
func (g *layerGraph) change(layer int, dependsOn []string, path string, problems *Problems) {
	if dependsOn == nil {
		return
	}
	g.needs[layer] = nil
	for i, name := range dependsOn {
		at := fmt.Sprintf("%s[%d]", path, i)
		own := slices.Index(g.names, strings.TrimPrefix(name, g.order+"/"))
		if exact := slices.Index(g.names, name); exact >= 0 {
			own = exact
		}
		order, other, foreign := strings.Cut(name, "/")
		switch {
		case own == layer:
			problems.add(at, "names the layer itself: remove it")
		case own >= 0:
			g.needs[layer] = append(g.needs[layer], own)
		case !foreign:
			problems.add(at, "is %q, which is no layer of sortOrder%s; a layer of another order is written order/layer", name, didYouMean(name, g.names))
		case order == g.order:
			problems.add(at, "is %q, but this order has no layer %s%s", name, other, didYouMean(other, g.names))
		case order == "" || other == "":
			problems.add(at, "is %q: write order/layer", name)
		default:
			g.others[layer] = append(g.others[layer], name)
		}
	}
}

// rank gives each layer its place: after all it needs and, where that leaves a
// choice, in the order of sortOrder. A cycle is a problem.
func (g *layerGraph) rank(problems *Problems) []int {
	ranks := make([]int, len(g.names))
	for i := range ranks {
		ranks[i] = -1
	}
	for next := range ranks {
		free := g.firstFree(ranks)
		if free < 0 {
			problems.add("layers", "form a cycle, %s: take one dependsOn away", strings.Join(g.cycle(ranks), " needs "))
			return ranks
		}
		ranks[free] = next
	}
	return ranks
}

// firstFree is the first layer without a rank whose needs all have one, -1 for
// none.
func (g *layerGraph) firstFree(ranks []int) int {
	for i, needs := range g.needs {
		if ranks[i] < 0 && !slices.ContainsFunc(needs, func(n int) bool { return ranks[n] < 0 }) {
			return i
		}
	}
	return -1
}

// cycle walks needs among the layers without a rank until one comes twice. It
// starts at the first of them, so that a fault always reads the same.
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

// closure is all a layer needs, transitively: its own order's layers by rank,
// then those of other orders by name.
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

// byRank are the indices of ranks, lowest rank first.
func byRank(ranks []int) []int {
	out := make([]int, len(ranks))
	for i, rank := range ranks {
		out[rank] = i
	}
	return out
}
