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

// An order adds gates: a layer waits until every resource of the layers before it is
// ready. So a group comes after another only where something of it waits for the readiness
// of the other in any case, by an edge or by an address that it is given, and both become
// ready. All other uses only say what may not be held back: a Secret, a Service, what
// another waits for until it is applied, and what a manifest mentions must not be behind
// the readiness of its user, which may need it.

// rank assigns each group the groups that it waits for, and its level behind them. Groups
// that use each other share a level, and wait for the same groups.
func (p *proposal) rank() {
	for _, sure := range []evidence{byKind, byAddress, byName} {
		// On a cycle all are dropped: nothing says which one is wrong.
		in := p.components(p.edges(sure))
		p.relations = slices.DeleteFunc(p.relations, func(r relation) bool { return r.sure == sure && in[r.from] == in[r.to] })
	}
	kept := p.edges(byName)
	in := p.components(kept)
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
	p.depth, p.level = ranks, slices.Clone(ranks[:len(p.groups)])
	used := slices.Compact(slices.Sorted(slices.Values(p.level)))
	for g := range p.level {
		p.level[g], _ = slices.BinarySearch(used, p.level[g])
	}
}

// waitFor sets which groups each group waits for: those from which a path starts with an
// edge that waits for readiness. in is the component of each vertex.
func (p *proposal) waitFor(g *graph.Graph, edges []graph.Edge, order, in []int32) {
	members := map[int32][]int{} // groups, by component
	for n := range p.groups {
		members[in[n]] = append(members[in[n]], n)
	}
	reach := make([]map[int]bool, g.Size)
	for _, v := range order {
		for _, i := range g.Out.Of(v) {
			e := edges[i]
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

// size returns the number of vertices: groups, then those of the stream.
func (p *proposal) size() int { return len(p.groups) + p.Graph().Size }

// vertex returns the vertex of a vertex of the stream: that of its group, if it has one.
func (p *proposal) vertex(v int32) int32 {
	if r, ok := p.ResourceOf(v); ok && p.groupOf[r] >= 0 {
		return int32(p.groupOf[r])
	}
	return v + int32(len(p.groups))
}

// edges returns the edges of the stream between groups and what has none, what groups
// mention of each other, and the relations for which there is some evidence or more. The
// weight of an edge is 1 if it waits for the readiness of a group.
func (p *proposal) edges(least evidence) []graph.Edge {
	out := slices.Clone(p.uses)
	for _, e := range p.Kept {
		out = append(out, graph.Edge{From: p.vertex(e.From), To: p.vertex(e.To), Weight: p.weight(e)})
	}
	for _, r := range p.relations {
		if r.sure >= least {
			out = append(out, graph.Edge{From: int32(r.from), To: int32(r.to), Weight: 1})
		}
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

// layers returns the groups as layers: those that wait for the same groups, and for which
// the same groups wait, with one selector if there is one, and otherwise as layers without
// an order between them.
func (p *proposal) layers() []Layer {
	order := make([]int, len(p.groups))
	for g := range order {
		order[g] = g
	}
	slices.SortStableFunc(order, func(a, b int) int { return p.level[a] - p.level[b] })
	var classes [][]int // of groups
	at := map[string]int{}
	for _, g := range order {
		key := p.place(g)
		if _, known := at[key]; !known {
			at[key], classes = len(classes), append(classes, nil)
		}
		classes[at[key]] = append(classes[at[key]], g)
	}
	var out []Layer
	names := map[int][]string{} // by group: the layers of its class
	used := map[string]bool{"unmatched": true}
	for n, class := range classes {
		var joined []group
		for _, g := range class {
			joined = merged(joined, p.groups[g])
		}
		after := p.directly(class[0], names)
		for _, g := range joined {
			l := Layer{Name: unique(nameOf(g, n), used), Selector: g.selector, Resources: p.ids(g.members), Why: p.whyOf(g)}
			if !p.follows(out, after) {
				l.DependsOn = after
			}
			out = append(out, l)
			for _, member := range class {
				names[member] = append(names[member], l.Name)
			}
		}
	}
	if p.leavesActive() {
		out = append(out, Layer{Name: "unmatched", Selector: selector{rest: true}, Applied: true, DependsOn: []string{}})
	}
	return out
}

// place describes what waits for a group, and for what it waits.
func (p *proposal) place(g int) string {
	var before []int
	for other := range p.groups {
		if p.behind[other][g] {
			before = append(before, other)
		}
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(p.behind[g])), before)
}

// directly returns the layers that a group waits for, without those that they wait for.
func (p *proposal) directly(g int, names map[int][]string) []string {
	out := []string{}
	for _, before := range slices.Sorted(maps.Keys(p.behind[g])) {
		between := func(other int) bool { return p.behind[g][other] && p.behind[other][before] }
		for _, name := range names[before] {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(p.behind[g])), between) && !slices.Contains(out, name) {
				out = append(out, name)
			}
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

// whyOf returns the reasons for which the groups of a layer wait for others: edges, then
// relations.
func (p *proposal) whyOf(layer group) []string {
	mine := map[int]bool{}
	for _, i := range layer.members {
		if g := p.groupOf[i]; g >= 0 {
			mine[g] = true
		}
	}
	var edges, others []string
	for _, e := range p.Kept {
		from, to := int(p.vertex(e.From)), int(p.vertex(e.To))
		if mine[to] && p.behind[to][from] && p.weight(e) > 0 {
			edges = append(edges, fmt.Sprintf("%s needs %s (%s)", p.VertexName(e.To), p.VertexName(e.From), e.Why.Detail))
		}
	}
	for _, r := range p.relations {
		if r.why != "" && mine[r.to] && p.behind[r.to][r.from] && !slices.Contains(others, r.why) {
			others = append(others, r.why)
		}
	}
	slices.SortFunc(edges, cmp.Compare[string])
	return append(slices.Compact(edges), others...)
}
