package draft

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// An order adds gates: a layer waits until every resource of the layers before it is ready. So
// a group comes after another only where an edge makes one of its resources wait for the
// readiness of one of the other's anyway, and both become ready. Other edges only forbid
// delays: a Secret, a Service or a controller must not be behind the readiness of a resource
// that uses it.

// rank assigns each group the groups that it waits for, and its level behind them. Groups
// that need each other share a level, and wait for the same groups; relations between them
// are dropped, but for the author's.
func (p *proposal) rank() {
	in := p.components(p.edges())
	p.knot = in[:len(p.groups)]
	p.relations = slices.DeleteFunc(p.relations, func(r relation) bool { return !r.byAuthor && in[r.from] == in[r.to] })
	kept := p.edges()
	in = p.components(kept)
	kept = slices.DeleteFunc(kept, func(e graph.Edge) bool { return in[e.From] == in[e.To] })
	for n, e := range kept {
		kept[n].From, kept[n].To = in[e.From], in[e.To]
	}
	g := graph.New(p.size(), kept)
	ranks, order := g.Ranks()
	p.waitFor(g, kept, order, in)
	for v := range ranks {
		ranks[v] = ranks[in[v]]
	}
	p.depth, p.level, p.circle = ranks, slices.Clone(ranks[:len(p.groups)]), in[:len(p.groups)]
	used := slices.Compact(slices.Sorted(slices.Values(p.level)))
	for g := range p.level {
		p.level[g], _ = slices.BinarySearch(used, p.level[g])
	}
}

// waitFor sets the groups that each group waits for: the origins of paths that start
// with a readiness edge. in is the component of each vertex.
func (p *proposal) waitFor(g *graph.Graph, edges []graph.Edge, order, in []int32) {
	members := map[int32][]int{} // groups, by component
	for n := range p.groups {
		members[in[n]] = append(members[in[n]], n)
	}
	reach := make([]map[int]bool, g.Size)
	for _, v := range order {
		for _, i := range g.Out.Of(v) {
			e := edges[i]
			if e.Why.Rule == ruleMentioned {
				continue
			}
			if reach[e.To] == nil {
				reach[e.To] = map[int]bool{}
			}
			maps.Copy(reach[e.To], reach[v])
			if e.Weight > 0 {
				for _, n := range members[v] {
					reach[e.To][n] = true
				}
			}
		}
	}
	p.behind = make([]map[int]bool, len(p.groups))
	for n := range p.groups {
		p.behind[n] = reach[in[n]]
	}
}

// size returns the number of vertices: groups, then the stream's.
func (p *proposal) size() int { return len(p.groups) + p.Graph().Size }

// vertex returns the vertex of a vertex of the stream: its group's, if it has one.
func (p *proposal) vertex(v int32) int32 {
	if r, ok := p.ResourceOf(v); ok && p.groupOf[r] >= 0 {
		return int32(p.groupOf[r])
	}
	return v + int32(len(p.groups))
}

// edges returns the edges of the stream between groups and resources without one, edges from
// controllers to their custom resources, and the relations. The weight of an edge is 1 if it
// waits for the readiness of a group.
func (p *proposal) edges() []graph.Edge {
	out := slices.Clone(p.uses)
	for _, e := range p.Kept {
		out = append(out, graph.Edge{From: p.vertex(e.From), To: p.vertex(e.To), Weight: p.weight(e)})
	}
	for _, r := range p.relations {
		out = append(out, graph.Edge{From: int32(r.from), To: int32(r.to), Weight: 1})
	}
	return out
}

// weight returns 1 if an edge makes a resource wait for the readiness of one that has a
// group, and both become ready. The ends of kapp's change groups count as resources.
func (p *proposal) weight(e graph.Edge) uint8 {
	from, ok := p.ResourceOf(e.From)
	if !ok || e.Gate != ordering.Ready || p.groupOf[from] < 0 || p.IsPassive(int(from)) {
		return 0
	}
	if to, ok := p.ResourceOf(e.To); ok && p.IsPassive(int(to)) {
		return 0
	}
	return 1
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

// layers returns the groups as layers, each with the layers that it waits for.
func (p *proposal) layers() []Layer {
	order := make([]int, len(p.groups))
	for g := range order {
		order[g] = g
	}
	slices.SortStableFunc(order, func(a, b int) int { return p.level[a] - p.level[b] })
	var out []Layer
	names := make([]string, len(p.groups)) // of their layers
	used := map[string]bool{"unmatched": true}
	for _, g := range order {
		after := p.directly(g, names)
		names[g] = unique(layerName(p.groups[g].title), used)
		l := Layer{Name: names[g], Selector: p.groups[g].selector, Resources: p.ids(p.groups[g].members), Why: p.whyOf(g)}
		if !p.follows(out, after) {
			l.DependsOn = after
		}
		out = append(out, l)
	}
	for n, g := range order {
		for _, other := range order {
			if other != g && p.circle[other] == p.circle[g] {
				out[n].Mutual = append(out[n].Mutual, names[other])
			}
		}
	}
	if p.leavesActive() {
		out = append(out, Layer{Name: "unmatched", Selector: selector{rest: true}, Applied: true, DependsOn: []string{}})
	}
	return out
}

// directly returns the layers that a group waits for, without indirect ones.
func (p *proposal) directly(g int, names []string) []string {
	out := []string{}
	all := slices.Sorted(maps.Keys(p.behind[g]))
	for _, before := range all {
		if !slices.ContainsFunc(all, func(other int) bool { return p.behind[other][before] }) {
			out = append(out, names[before])
		}
	}
	return out
}

// follows reports whether the next entry of sortOrder waits for these layers by its place
// in the list.
func (p *proposal) follows(entries []Layer, after []string) bool {
	if len(entries) == 0 || len(after) == 0 {
		return len(entries) == len(after)
	}
	return len(after) == 1 && entries[len(entries)-1].Name == after[0]
}

// leavesActive reports whether the order leaves a resource without a place that becomes
// ready. The layers may need it, and it may need them: it waits for none, and none for it.
func (p *proposal) leavesActive() bool {
	if len(p.groups) == 0 || slices.ContainsFunc(p.groups, func(g group) bool { return g.selector.rest }) {
		return false
	}
	for i, g := range p.groupOf {
		if g < 0 && !p.IsPassive(i) {
			return true
		}
	}
	return false
}

// layerName returns the name of a layer for the title of its group.
func layerName(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_.=+", r):
			return r
		}
		return '-'
	}, title)
}

func unique(name string, used map[string]bool) string {
	for n, first := 2, name; used[name]; n++ {
		name = fmt.Sprintf("%s-%d", first, n)
	}
	used[name] = true
	return name
}

// whyOf returns the reasons for which a group waits for others: edges, then relations.
func (p *proposal) whyOf(g int) []string {
	var edges, others []string
	for _, e := range p.Kept {
		if int(p.vertex(e.To)) == g && p.behind[g][int(p.vertex(e.From))] && p.weight(e) > 0 {
			edges = append(edges, fmt.Sprintf("%s needs %s (%s)", p.VertexName(e.To), p.VertexName(e.From), e.Why.Detail))
		}
	}
	for _, r := range p.relations {
		if r.why != "" && (!r.guess || len(edges) == 0) && r.to == g && p.behind[g][r.from] && !slices.Contains(others, r.why) {
			others = append(others, r.why)
		}
	}
	slices.SortFunc(edges, cmp.Compare[string])
	return append(slices.Compact(edges), others...)
}
