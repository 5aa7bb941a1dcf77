package ordering

import (
	"errors"
	"slices"

	"github.com/ordapply/ordapply/internal/crdcheck"
	"github.com/ordapply/ordapply/internal/declared"
	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/object"
)

// Build plans a stream. Resources must have distinct IDs; their order does not
// matter, and they are not changed. The error is for the author of the manifests
// and joins everything that is wrong: declarations that name missing resources or
// contradict each other, resources placed after their dependents, versions that
// the stream's own CRD does not serve, hooks that no option allows, and a
// *CycleError for each cycle. The plan is then nil.
func Build(resources []references.Resource, options Options) (*Plan, error) {
	b, err := newBuilder(resources, options)
	if err = errors.Join(options.Idle(resources), err, crdcheck.Unserved(b.Index, options.Excluded, options.Serves)); err != nil {
		return nil, err
	}
	plan := b.plan()
	if err := plan.unsafeStacks(options.Stacks); err != nil {
		return nil, err
	}
	return plan, nil
}

// builder is the state of one planning run.
type builder struct {
	*declared.Declarations
	edges         []graph.Edge // the edges that are kept
	dropped       []graph.Contradiction
	searched      int // edges visited by searches for contradictions
	skipped       []Skipped
	graph         *graph.Graph    // of the edges that hold
	readyVertex   map[int32]int32 // of resources that are ready only later; see ready.go
	readyOf       map[int32]int32 // the other way
	hasDependents []bool          // per resource: another needs it
	// neededOutside is set for resources that one outside the selection needs. A
	// default place of such a resource does not make it wait for external resources.
	neededOutside     []bool
	floating          []bool       // per resource: it is applied with its first dependent
	latePrerequisites int          // the set of prerequisites that need others; -1
	appliedLast       []int        // resources that are applied after all that have a place
	allPlaced         int          // the set of all placed resources; -1 if not needed
	gate              []graph.Gate // per resource: what its dependents wait for
	rank              []int        // per vertex
	wave              []int        // per vertex
}

func newBuilder(resources []references.Resource, options Options) (*builder, error) {
	sorted := slices.Clone(resources)
	slices.SortFunc(sorted, func(a, b references.Resource) int { return object.Compare(a.ID, b.ID) })
	sorted, skipped, err := declared.WithoutHooks(sorted, options)
	ix := references.NewIndex(sorted, options.Condition)
	soft := ix.SoftEdges()
	b := &builder{Declarations: declared.Read(ix, options, skipped), skipped: skipped}
	soft = append(soft, ix.PodWebhookEdges(soft, b.Declarations.Edges)...)
	b.neededOutside = b.neededByLeftOut()
	b.hasDependents = b.neededBy(soft)
	b.placeUnplaced()
	b.splitPrerequisites(soft)
	edges := slices.Concat(b.Declarations.Edges, b.SetEdges(), b.prerequisiteEdges(), b.lastEdges(), soft)
	b.relaxClaims(edges)
	resolved := b.resolveEdges(edges)
	b.edges, b.dropped, b.searched = resolved.Kept, resolved.Dropped, resolved.Searched
	errs := append([]error{err}, b.Errs...)
	for _, cycle := range resolved.Cycles {
		errs = append(errs, b.cycleError(cycle))
	}
	return b, errors.Join(append(errs, b.planErrors()...)...)
}

// neededByLeftOut reports, per resource, whether a resource that a selection leaves
// out needs it, directly or through others.
func (b *builder) neededByLeftOut() []bool {
	needed := make([]bool, len(b.Resources))
	if len(b.ExcludedResources) == 0 {
		return needed
	}
	all := slices.SortedFunc(slices.Values(slices.Concat(b.Resources, b.ExcludedResources)), func(a, b references.Resource) int { return object.Compare(a.ID, b.ID) })
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
func (b *builder) neededBy(soft []graph.Edge) []bool {
	d := b.Declarations
	needed := slices.Clone(b.neededOutside)
	for _, edges := range [][]graph.Edge{soft, d.Edges} {
		for _, e := range edges {
			if int(e.From) < len(needed) {
				needed[e.From] = true
			}
		}
	}
	for _, m := range d.Members {
		if d.Sets[m.Set].Kind == ChangeGroup {
			needed[m.Resource] = true
		}
	}
	return needed
}

// placeUnplaced places unplaced resources that have no dependents: unmatched ones go
// to the layer for unmatched resources, others behind everything that is
// placed. Unplaced resources with dependents float to the wave of the first
// one.
func (b *builder) placeUnplaced() {
	b.floating = make([]bool, len(b.Resources))
	framed := b.placingSets()
	b.allPlaced = -1
	for i := range b.Resources {
		switch at := b.Placements[i]; {
		case at == declared.Unmatched && !b.hasDependents[i]:
			b.Join(i, b.LayerOf[i], graph.Hard, graph.DefaultPlace)
		case at == declared.Unplaced && !b.hasDependents[i] && len(framed) > 0:
			if b.allPlaced < 0 {
				b.allPlaced = b.addEverything(framed)
			}
			b.appliedLast = append(b.appliedLast, i)
		case at == declared.Unmatched, at == declared.Unplaced && len(framed) > 0:
			b.floating[i] = true
		}
	}
}

// placingSets returns the outermost sets that place resources.
func (b *builder) placingSets() []int {
	var out []int
	for s, set := range b.Sets {
		if set.Within < 0 && set.Kind != Prerequisites && set.Kind != ChangeGroup {
			out = append(out, s)
		}
	}
	return out
}

func (b *builder) addEverything(sets []int) int {
	s := declared.Set{Name: "all that is placed", Short: "the rest", Kind: AllPlaced, Within: -1}
	for _, placing := range sets {
		s.After = append(s.After, Barrier{Layer: placing, Why: graph.Reason{Rule: "unplaced", Detail: "resources without a place come last"}})
	}
	return b.AddSet(s)
}

// lastEdges make unplaced resources without dependents wait for everything that
// is placed.
func (b *builder) lastEdges() []graph.Edge {
	var edges []graph.Edge
	for _, i := range b.appliedLast {
		why := graph.Reason{Rule: "unplaced", Detail: "it has no place, and nothing depends on it"}
		edges = append(edges, graph.Edge{From: b.Exit(b.allPlaced), To: int32(i), Strength: graph.DefaultPlace, Why: why})
	}
	return edges
}

func (b *builder) plan() *Plan {
	b.graph = graph.New(len(b.Resources)+2*len(b.Sets)+len(b.readyOf), b.edges)
	rank, order := b.graph.Ranks()
	b.rank = rank
	b.floatMoved()
	b.scheduleLate(order)
	waves := b.numberWaves()
	b.gates()
	plan := &Plan{
		Steps: b.steps(), Waves: make([]Wave, waves), Layers: b.layers(), OrderSource: b.OrderSource,
		Skipped: b.skipped, Dropped: b.droppedEdges(), Notes: b.planNotes(),
	}
	plan.Notes = append(plan.Notes, b.notesOfLeftOut(plan.Steps)...)
	b.nameWaves(plan.Waves)
	return plan
}

// floatMoved lets a resource float if its default place was overruled by an
// edge.
func (b *builder) floatMoved() {
	for _, c := range b.dropped {
		e := c.Edge
		if e.Strength == graph.DefaultPlace && int(e.To) < len(b.Resources) && int(e.From) >= len(b.Resources) && b.Placements[e.To] == declared.ByDefault {
			b.floating[e.To] = true
		}
	}
}

// scheduleLate moves every floating resource to the last wave that is early enough for
// all its dependents. Dependents are handled before what they depend on.
func (b *builder) scheduleLate(order []int32) {
	for _, v := range slices.Backward(order) {
		if r, ok := b.resourceOf(v); ok && b.floating[r] {
			if e := b.firstOutEdge(v); e != nil {
				b.rank[v] = max(b.rank[v], b.rank[e.To]-int(e.Weight))
			}
		}
	}
}

// firstOutEdge returns the outgoing edge whose target comes first.
func (b *builder) firstOutEdge(v int32) *graph.Edge {
	var first *graph.Edge
	for _, i := range b.graph.Out.Of(v) {
		e := &b.edges[i]
		if first == nil || b.rank[e.To]-int(e.Weight) < b.rank[first.To]-int(first.Weight) {
			first = e
		}
	}
	return first
}

// earliestDependent returns the edge to the earliest dependent of a resource, which
// may need it applied or ready; nil if it has no dependents.
func (b *builder) earliestDependent(v int32) *graph.Edge {
	e := b.firstOutEdge(v)
	if ready, ok := b.readyVertex[v]; ok && e != nil && e.To == ready {
		return b.firstOutEdge(ready)
	}
	return e
}

// numberWaves numbers the distinct ranks of resources as waves, from 0, and
// returns how many there are.
func (b *builder) numberWaves() int {
	used := slices.Compact(slices.Sorted(slices.Values(b.rank[:len(b.Resources)])))
	b.wave = make([]int, len(b.rank))
	for v, r := range b.rank {
		b.wave[v], _ = slices.BinarySearch(used, r)
	}
	return len(used)
}
