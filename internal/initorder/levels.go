package initorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/graph"
)

// rank assigns each group its level: after all groups that its resources need, directly
// or through resources without a group. Groups that need each other share a level.
func (p *proposal) rank() {
	// Guesses on a cycle are dropped, all of them: nothing says which one is wrong.
	cyclic := p.components(p.edges())
	p.relations = slices.DeleteFunc(p.relations, func(r relation) bool { return !r.certain && cyclic[r.from] == cyclic[r.to] })
	kept := p.edges()
	in := p.components(kept)
	kept = slices.DeleteFunc(kept, func(e graph.Edge) bool { return in[e.From] == in[e.To] })
	for n, e := range kept {
		kept[n].From, kept[n].To = in[e.From], in[e.To]
		if int(in[e.From]) < len(p.groups) {
			kept[n].Weight = 1
		}
	}
	ranks, _ := graph.New(p.size(), kept).Ranks()
	for v := range ranks {
		ranks[v] = ranks[in[v]]
	}
	p.depth, p.level = ranks, slices.Clone(ranks[:len(p.groups)])
	used := slices.Compact(slices.Sorted(slices.Values(p.level)))
	for g := range p.level {
		p.level[g], _ = slices.BinarySearch(used, p.level[g])
	}
}

// size returns the number of vertices: groups, then those of the stream.
func (p *proposal) size() int { return len(p.groups) + p.Graph().Size }

// vertex returns the vertex of a vertex of the stream: that of its group, if it has one.
func (p *proposal) vertex(v int32) int32 {
	if r, ok := p.ResourceOf(v); ok && p.groupOf[r] >= 0 {
		return int32(p.groupOf[r])
	}
	return v + int32(len(p.groups))
}

// edges returns the edges of the stream between groups and what has none, and the
// relations of groups.
func (p *proposal) edges() []graph.Edge {
	var out []graph.Edge
	for _, e := range p.Kept {
		out = append(out, graph.Edge{From: p.vertex(e.From), To: p.vertex(e.To)})
	}
	for _, r := range p.relations {
		out = append(out, graph.Edge{From: int32(r.from), To: int32(r.to)})
	}
	return out
}

// components returns, for each vertex, the first one of its strongly connected component.
func (p *proposal) components(edges []graph.Edge) []int32 {
	of := make([]int32, p.size())
	for v := range of {
		of[v] = int32(v)
	}
	for _, component := range graph.New(p.size(), edges).Components() {
		first := slices.Min(component)
		for _, v := range component {
			of[v] = first
		}
	}
	return of
}

// layers returns the groups as layers, those of a level with one selector if there is
// one, and otherwise as layers without an order between them.
func (p *proposal) layers() []Layer {
	byLevel := make([][]group, 0)
	for g := range p.groups {
		for len(byLevel) <= p.level[g] {
			byLevel = append(byLevel, nil)
		}
		byLevel[p.level[g]] = merged(byLevel[p.level[g]], p.groups[g])
	}
	var out []Layer
	var before []string // the layers of the level before
	used := map[string]bool{"unmatched": true}
	for n, groups := range byLevel {
		var names []string
		for m, g := range groups {
			name := unique(nameOf(g, n), used)
			l := Layer{Name: name, Selector: g.selector, Resources: p.ids(g.members), Why: p.whyOf(g)}
			if m > 0 || len(before) > 1 {
				l.DependsOn = append([]string{}, before...)
			}
			names, out = append(names, name), append(out, l)
		}
		before = names
	}
	if len(before) > 1 && !slices.ContainsFunc(p.groups, func(g group) bool { return g.selector.rest }) {
		out = append(out, Layer{Name: "unmatched", DependsOn: before})
	}
	return out
}

// merged adds a group to those of its level.
func merged(groups []group, g group) []group {
	for n, other := range groups {
		if s, ok := other.selector.join(g.selector); ok {
			groups[n].selector = s
			groups[n].titles = append(groups[n].titles, g.title)
			groups[n].members = slices.Sorted(slices.Values(slices.Concat(other.members, g.members)))
			return groups
		}
	}
	g.titles = []string{g.title}
	return append(groups, g)
}

// nameOf returns the name of a layer: of its groups, or of the stage of all of them.
func nameOf(g group, level int) string {
	name := strings.Join(g.titles, "-")
	stage := stageOf(g.titles[0])
	switch same := !slices.ContainsFunc(g.titles, func(t string) bool { return stageOf(t) != stage }); {
	case len(g.titles) == 1:
	case same && stage >= 0:
		name = stages()[stage][0]
	case len(slices.Compact(slices.Clone(g.titles))) == 1:
		name = g.titles[0]
	case len(name) > 40:
		name = fmt.Sprintf("layer-%d", level+1)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_.=+", r):
			return r
		}
		return '-'
	}, name)
}

func unique(name string, used map[string]bool) string {
	for n, first := 2, name; used[name]; n++ {
		name = fmt.Sprintf("%s-%d", first, n)
	}
	used[name] = true
	return name
}

// whyOf returns reasons for the level of a layer's groups: edges, then relations.
func (p *proposal) whyOf(layer group) []string {
	level := -1
	mine := map[int]bool{}
	for _, i := range layer.members {
		if g := p.groupOf[i]; g >= 0 {
			mine[g], level = true, p.level[g]
		}
	}
	var edges, others []string
	for _, e := range p.Kept {
		from, to := p.vertex(e.From), p.vertex(e.To)
		if int(from) < len(p.groups) && mine[int(to)] && p.level[from] < level {
			edges = append(edges, fmt.Sprintf("%s needs %s (%s)", p.VertexName(e.To), p.VertexName(e.From), e.Why.Detail))
		}
	}
	for _, r := range p.relations {
		if r.why != "" && mine[r.to] && p.level[r.from] < level && !slices.Contains(others, r.why) {
			others = append(others, r.why)
		}
	}
	slices.SortFunc(edges, cmp.Compare[string])
	return append(slices.Compact(edges), others...)
}
