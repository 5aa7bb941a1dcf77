package edges

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// CRDs, Namespaces and the kinds that options name come first unless their
// author placed them: an operator needs its CRDs even if no manifest says so.
// Prerequisites that need other resources, such as an Issuer whose webhook must
// be ready, or a CRD that depends on its operator, form a second set, for which
// inert resources such as ConfigMaps do not wait. The remaining prerequisites
// come before everything, including the second set and its dependencies.

// splitPrerequisites moves the prerequisites that need other resources into a
// second set.
func (b *Dependencies) splitPrerequisites(soft []graph.Edge) {
	b.LatePrerequisites = -1
	if b.Prerequisites < 0 {
		return
	}
	late := b.dependOnOthers(b.edgesToPrerequisites(soft))
	isLate := func(m Membership) bool { return m.Set == b.Prerequisites && late[m.Resource] }
	isFirst := func(m Membership) bool { return m.Set == b.Prerequisites && !late[m.Resource] }
	switch {
	case !slices.ContainsFunc(b.Members, isLate):
		return
	case !slices.ContainsFunc(b.Members, isFirst):
		b.Prerequisites, b.LatePrerequisites = -1, b.Prerequisites
		return
	}
	b.LatePrerequisites = b.AddSet(Set{Name: "prerequisites that need others", Short: "prerequisites", Kind: ordering.Prerequisites, Within: -1})
	for i := range b.Members {
		if isLate(b.Members[i]) {
			b.Members[i].Set = b.LatePrerequisites
		}
	}
}

// edgesToPrerequisites returns the edges that end in prerequisites or in change
// groups, through which they may reach prerequisites.
func (b *Dependencies) edgesToPrerequisites(soft []graph.Edge) []graph.Edge {
	var out []graph.Edge
	for _, edges := range [][]graph.Edge{b.Declarations.Edges, b.SetEdges(), soft} {
		for _, e := range edges {
			if int(e.To) < len(b.Resources) && b.Placements[e.To] == Early || int(e.To) >= len(b.Resources) && b.Sets[b.SetOf(e.To)].Kind == ordering.ChangeGroup {
				out = append(out, e)
			}
		}
	}
	return out
}

// dependOnOthers reports, per vertex, whether it waits for a resource that is not
// a prerequisite.
func (b *Dependencies) dependOnOthers(edges []graph.Edge) []bool {
	behind := make([]bool, b.Vertices())
	if len(edges) == 0 {
		return behind
	}
	g := graph.New(len(behind), edges)
	var reached []int32
	for i := range b.Resources {
		if b.Placements[i] != Early {
			reached = append(reached, int32(i))
		}
	}
	for next := 0; next < len(reached); next++ {
		for _, i := range g.Out.Of(reached[next]) {
			if to := edges[i].To; !behind[to] {
				behind[to] = true
				reached = append(reached, to)
			}
		}
	}
	return behind
}

// prerequisiteEdges make all other resources wait for the prerequisites.
func (b *Dependencies) prerequisiteEdges() []graph.Edge {
	var edges []graph.Edge
	for _, s := range []int{b.Prerequisites, b.LatePrerequisites} {
		if s < 0 {
			continue
		}
		edges = slices.Grow(edges, len(b.Resources))
		for i, r := range b.Resources {
			if b.Placements[i] == Early || s == b.LatePrerequisites && IsInertKind(r.ID.GroupKind()) {
				continue
			}
			edges = append(edges, graph.Edge{From: b.Exit(s), To: int32(i), Weight: 1, Strength: graph.DefaultPlace, Why: PrerequisitesReason()})
		}
	}
	return edges
}

// PrerequisitesReason returns why a prerequisite goes first.
func PrerequisitesReason() ordering.Reason {
	return ordering.Reason{Rule: ordering.RulePrerequisites, Detail: "CRDs and Namespaces go first"}
}
