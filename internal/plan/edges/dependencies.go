package edges

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Dependencies are the edges of a stream, declared and inferred, that hold together.
type Dependencies struct {
	*Declarations
	graph.Resolution
	Skipped []ordering.Skipped // the hooks that are not part of the stream
	Readiness
	hasDependents []bool // per resource: another needs it
	// NeededOutside is set for resources that one outside the selection needs. A
	// default place of such a resource does not make it wait for external resources.
	NeededOutside     []bool
	Floating          []bool // per resource: it is applied with its first dependent, and waits for no layer
	LatePrerequisites int    // the set of prerequisites that need others; -1
	AllPlaced         int    // the set of all placed resources; -1 if not needed
	appliedLast       []int  // resources that are applied after all that have a place
}

// Find finds the dependencies of a stream. The error joins the faults of its
// declarations, a *CycleError for each cycle, and resources placed after their
// dependents; the dependencies are then incomplete.
func Find(resources []ordering.Resource, options ordering.Options) (*Dependencies, error) {
	sorted, skipped, err := WithoutHooks(sortedByID(resources), options)
	ix := references.NewIndex(sorted, options.Condition)
	ix.Hooks = options.Hooks
	soft := ix.SoftEdges()
	b := &Dependencies{Declarations: ReadDeclared(ix, options, skipped), Skipped: skipped}
	soft = append(soft, ix.PodWebhookEdges(soft, b.Declarations.Edges)...)
	b.NeededOutside = b.neededByLeftOut()
	b.hasDependents = b.neededBy(soft)
	b.placeUnplaced()
	b.splitPrerequisites(soft)
	edges := slices.Concat(b.Declarations.Edges, b.SetEdges(), b.prerequisiteEdges(), b.lastEdges(), soft)
	b.relaxClaims(edges)
	b.Resolution = b.resolveEdges(edges)
	b.floatMoved()
	errs := append([]error{err}, b.Errs...)
	for _, cycle := range b.Cycles {
		errs = append(errs, b.CycleError(cycle))
	}
	return b, errors.Join(append(errs, b.planErrors()...)...)
}

// sortedByID returns the resources sorted by ID. It compares only names where it can: those of
// the resources of one kind and namespace.
func sortedByID(resources []ordering.Resource) []ordering.Resource {
	alike := map[object.ID][]int{} // by ID without its name
	for i := range resources {
		id := resources[i].ID
		id.Name = ""
		alike[id] = append(alike[id], i)
	}
	sorted := make([]ordering.Resource, 0, len(resources))
	for _, id := range slices.SortedFunc(maps.Keys(alike), object.Compare) {
		slices.SortFunc(alike[id], func(a, b int) int { return strings.Compare(resources[a].Name, resources[b].Name) })
		for _, i := range alike[id] {
			sorted = append(sorted, resources[i])
		}
	}
	return sorted
}

// neededByLeftOut reports, per resource, whether a resource that a selection leaves
// out needs it, directly or through others.
func (b *Dependencies) neededByLeftOut() []bool {
	needed := make([]bool, len(b.Resources))
	if len(b.ExcludedResources) == 0 {
		return needed
	}
	all := slices.SortedFunc(slices.Values(slices.Concat(b.Resources, b.ExcludedResources)), func(a, b ordering.Resource) int { return object.Compare(a.ID, b.ID) })
	needs := map[object.ID][]object.ID{}
	for _, e := range references.NewIndex(all, b.Options.Condition).SoftEdges() {
		needs[all[e.To].ID] = append(needs[all[e.To].ID], all[e.From].ID)
	}
	var users []object.ID
	for _, r := range b.ExcludedResources {
		users = append(users, r.ID)
	}
	for ; len(users) > 0; users = users[1:] {
		for _, id := range needs[users[0]] {
			if i, planned := b.ByID[id]; planned && !needed[i] {
				needed[i] = true
				users = append(users, id)
			}
		}
	}
	return needed
}

// neededBy reports, per resource, whether another resource depends on it.
func (b *Dependencies) neededBy(soft []graph.Edge) []bool {
	d := b.Declarations
	needed := slices.Clone(b.NeededOutside)
	for _, edges := range [][]graph.Edge{soft, d.Edges} {
		for _, e := range edges {
			if int(e.From) < len(needed) {
				needed[e.From] = true
			}
		}
	}
	for _, m := range d.Members {
		if d.Sets[m.Set].Kind == ordering.ChangeGroup {
			needed[m.Resource] = true
		}
	}
	return needed
}

// placeUnplaced places unplaced resources that have no dependents: unmatched ones go
// to the layer for unmatched resources, others behind everything that is
// placed. Unplaced resources with dependents float to the wave of the first
// one. Passive ones wait for no layer unless their order says so: a resource that uses
// them in a way that no edge shows would never become ready.
func (b *Dependencies) placeUnplaced() {
	b.Floating = make([]bool, len(b.Resources))
	framed := b.placingSets()
	b.AllPlaced = -1
	for i := range b.Resources {
		switch at := b.Placements[i]; {
		case at == Unmatched && b.Sets[b.LayerOf[i]].Implied && b.IsPassive(i), at == Unplaced && len(framed) > 0 && b.IsPassive(i):
			b.Floating[i] = true
		case at == Unmatched && !b.hasDependents[i]:
			b.Join(i, b.LayerOf[i], graph.Hard, graph.DefaultPlace)
		case at == Unplaced && !b.hasDependents[i] && len(framed) > 0:
			if b.AllPlaced < 0 {
				b.AllPlaced = b.addEverything(framed)
			}
			b.appliedLast = append(b.appliedLast, i)
		case at == Unmatched, at == Unplaced && len(framed) > 0:
			b.Floating[i] = true
		}
	}
}

// placingSets returns the outermost sets that place resources.
func (b *Dependencies) placingSets() []int {
	var out []int
	for s, set := range b.Sets {
		if set.Within < 0 && set.Kind != ordering.Prerequisites && set.Kind != ordering.ChangeGroup {
			out = append(out, s)
		}
	}
	return out
}

func (b *Dependencies) addEverything(sets []int) int {
	s := Set{Name: "all that is placed", Short: "the rest", Kind: ordering.AllPlaced, Within: -1}
	for _, placing := range sets {
		s.After = append(s.After, ordering.Barrier{Layer: placing, Why: ordering.Reason{Rule: "unplaced", Detail: "resources without a place come last"}})
	}
	return b.AddSet(s)
}

// lastEdges make unplaced resources without dependents wait for everything that
// is placed.
func (b *Dependencies) lastEdges() []graph.Edge {
	var edges []graph.Edge
	for _, i := range b.appliedLast {
		why := ordering.Reason{Rule: "unplaced", Detail: "it has no place, and nothing depends on it"}
		edges = append(edges, graph.Edge{From: b.Exit(b.AllPlaced), To: int32(i), Strength: graph.DefaultPlace, Why: why})
	}
	return edges
}

// floatMoved lets a resource float if its default place was overruled by an
// edge.
func (b *Dependencies) floatMoved() {
	for _, c := range b.Dropped {
		e := c.Edge
		if e.Strength == graph.DefaultPlace && int(e.To) < len(b.Resources) && int(e.From) >= len(b.Resources) && b.Placements[e.To] == ByDefault {
			b.Floating[e.To] = true
		}
	}
}
