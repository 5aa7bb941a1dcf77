package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/references"
)

// CRDs, Namespaces and the kinds that options name come first unless their
// author placed them: an operator needs its CRDs even if no manifest says so.
// Prerequisites that need other resources, such as an Issuer whose webhook must
// be ready, or a CRD that depends on its operator, form a second set, for which
// inert resources such as ConfigMaps do not wait. The remaining prerequisites
// come before everything, including the second set and its dependencies.

// placePrerequisites puts CRDs, Namespaces and the kinds that options name into
// a set that everything waits for, unless their author placed them.
func (d *declarations) placePrerequisites() {
	d.prerequisites = -1
	if d.options.NoPrerequisites {
		return
	}
	for i, r := range d.Resources {
		if d.placements[i] == placed || !d.isPrerequisite(r) {
			continue
		}
		if d.prerequisites < 0 {
			d.prerequisites = d.addSet(set{name: "prerequisites", short: "prerequisites", kind: Prerequisites, within: -1})
		}
		d.placements[i] = early
		d.join(i, d.prerequisites, noEdge, graph.Hard)
	}
}

func (d *declarations) isPrerequisite(r references.Resource) bool {
	if r.ID.IsCRD() || r.ID.IsNamespace() {
		return true
	}
	for _, kind := range d.options.PrerequisiteKinds {
		if kind == r.Kind || kind == r.GroupKind() {
			return true
		}
	}
	return false
}

// splitPrerequisites moves the prerequisites that need other resources into a
// second set.
func (b *builder) splitPrerequisites(soft []graph.Edge) {
	b.latePrerequisites = -1
	if b.prerequisites < 0 {
		return
	}
	late := b.dependOnOthers(b.edgesToPrerequisites(soft))
	isLate := func(m membership) bool { return m.set == b.prerequisites && late[m.resource] }
	isFirst := func(m membership) bool { return m.set == b.prerequisites && !late[m.resource] }
	switch {
	case !slices.ContainsFunc(b.members, isLate):
		return
	case !slices.ContainsFunc(b.members, isFirst):
		b.prerequisites, b.latePrerequisites = -1, b.prerequisites
		return
	}
	b.latePrerequisites = b.addSet(set{name: "prerequisites that need others", short: "prerequisites", kind: Prerequisites, within: -1})
	for i := range b.members {
		if isLate(b.members[i]) {
			b.members[i].set = b.latePrerequisites
		}
	}
}

// edgesToPrerequisites returns the edges that end in prerequisites or in change
// groups, through which they may reach prerequisites.
func (b *builder) edgesToPrerequisites(soft []graph.Edge) []graph.Edge {
	var out []graph.Edge
	for _, edges := range [][]graph.Edge{b.declarations.edges, b.setEdges(), soft} {
		for _, e := range edges {
			if int(e.To) < len(b.Resources) && b.placements[e.To] == early || int(e.To) >= len(b.Resources) && b.sets[b.setOf(e.To)].kind == ChangeGroup {
				out = append(out, e)
			}
		}
	}
	return out
}

// dependOnOthers reports, per vertex, whether it waits for a resource that is not
// a prerequisite.
func (b *builder) dependOnOthers(edges []graph.Edge) []bool {
	behind := make([]bool, len(b.Resources)+2*len(b.sets))
	if len(edges) == 0 {
		return behind
	}
	g := graph.New(len(behind), edges)
	var road []int32
	for i := range b.Resources {
		if b.placements[i] != early {
			road = append(road, int32(i))
		}
	}
	for next := 0; next < len(road); next++ {
		for _, i := range g.Out.Of(road[next]) {
			if to := edges[i].To; !behind[to] {
				behind[to] = true
				road = append(road, to)
			}
		}
	}
	return behind
}

// prerequisiteEdges make all other resources wait for the prerequisites.
func (b *builder) prerequisiteEdges() []graph.Edge {
	var edges []graph.Edge
	for _, s := range []int{b.prerequisites, b.latePrerequisites} {
		if s < 0 {
			continue
		}
		for i, r := range b.Resources {
			if b.placements[i] == early || s == b.latePrerequisites && isInertKind(r.ID.GroupKind()) {
				continue
			}
			edges = append(edges, graph.Edge{From: b.exit(s), To: int32(i), Weight: 1, Strength: graph.DefaultPlace, Why: prerequisitesReason()})
		}
	}
	return edges
}

func prerequisitesReason() graph.Reason {
	return graph.Reason{Rule: "prerequisites", Detail: "CRDs and Namespaces go first"}
}
