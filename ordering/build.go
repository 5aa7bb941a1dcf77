package ordering

import (
	"errors"
	"slices"
	"time"

	"github.com/ordapply/ordapply/object"
)

// Options change how a plan is built. The zero value is the documented
// default.
type Options struct {
	// Frame says what places resources; FrameAuto finds out.
	Frame Frame
	// SkipHooks leaves out Helm hooks, and Argo CD hooks that no sync creates,
	// instead of refusing them.
	SkipHooks bool
	// RunHooks says that Helm's hooks were taken out of the stream, to be run around
	// the plan. What is there all the same is as by default.
	RunHooks bool
	// KeepHooks plans hooks as any other resource: what is deleted may hold some,
	// whichever way they came into the cluster.
	KeepHooks bool
	// Incomplete says that parts of the stream could not be read: that something
	// named is not there is then no fault.
	Incomplete bool
	// NoPrerequisites lets CRDs and Namespaces that nothing placed go out like
	// everything else.
	NoPrerequisites bool
	// PrerequisiteKinds go first beside CRDs and Namespaces: "Kind" of any
	// group, or "Kind.group".
	PrerequisiteKinds []string
	// Charts say how the charts of a rendered stream depend on each other.
	Charts []Chart
	// Stacks group applications, and ApplicationOf says to which a resource
	// belongs: "stack/application", or "" for none. It is needed where there
	// are stacks.
	Stacks        []Stack
	ApplicationOf func(object.Meta) string
	// IdleApplications reports, of all resources of a stream, which applications
	// select none though they must; nil: none must. Build and Vet refuse these; what
	// is deleted may have lost some.
	IdleApplications func([]object.Meta) []error
	// KindTimeouts are how long resources of a kind may take: the first that
	// names the kind counts.
	KindTimeouts []KindTimeout
	// Condition evaluates the match conditions of webhooks; nil takes all of them
	// to hold.
	Condition Condition
	// Serves reports whether the cluster serves a resource's kind in its version;
	// nil without a cluster.
	Serves func(object.Meta) bool
	// Elsewhere are resources that belong to the stream and are no part of the
	// plan: others wait for them in the cluster, as for what is external.
	Elsewhere []Resource
}

// Condition evaluates a CEL expression over variables. known is false for one
// that cannot be evaluated, such as one that uses other variables.
type Condition func(expression string, variables map[string]any) (holds, known bool)

// KindTimeout is how long a resource of a kind may take.
type KindTimeout struct {
	Kind    string // "Kind" of any group, or "Kind.group"
	Timeout time.Duration
}

// Build plans a stream. The resources' IDs must differ; their order does not
// matter. The error is for the author of the manifests and joins all that was
// found wrong: declarations that name nothing or contradict each other, a
// resource placed after one that needs it, a *CycleError for each circle.
func Build(resources []Resource, options Options) (*Plan, error) {
	b, err := newBuilder(resources, options)
	if err = errors.Join(options.idle(resources), err, b.unserved()); err != nil {
		return nil, err
	}
	plan := b.plan()
	if err := plan.unsafeStacks(options.Stacks); err != nil {
		return nil, err
	}
	return plan, nil
}

// builder holds one planning run.
type builder struct {
	*declarations
	edges       []edge // that hold
	dropped     []contradiction
	searched    int // edges that searches for contradictions looked at
	skipped     []Skipped
	graph       *graph          // of the edges that hold
	readyVertex map[int32]int32 // of resources that are ready only later; see ready.go
	readyOf     map[int32]int32 // the other way
	needed      []bool          // per resource: another needs it
	floating    []bool          // per resource: it goes out with the first who needs it
	latecomers  int             // the set of prerequisites that need others; -1
	last        []int           // resources that go out behind all that has a place
	rest        int             // the set of all that has a place; -1 when nobody asked
	gate        []Gate          // per resource: what is waited for of it
	rank        []int           // per vertex
	wave        []int           // per vertex
}

func newBuilder(resources []Resource, options Options) (*builder, error) {
	sorted := slices.Clone(resources)
	slices.SortFunc(sorted, func(a, b Resource) int { return object.Compare(a.ID, b.ID) })
	sorted, skipped, err := withoutHooks(sorted, options)
	ix := newIndex(sorted, options.Condition)
	soft := ix.softEdges()
	b := &builder{declarations: declare(ix, options, skipped), skipped: skipped}
	soft = append(soft, ix.podHookEdges(soft, b.declarations.edges)...)
	b.needed = b.neededBy(soft)
	b.settle()
	b.splitPrerequisites(soft)
	edges := slices.Concat(b.declarations.edges, b.setEdges(), b.prerequisiteEdges(), b.lastEdges(), soft)
	b.bound(edges)
	resolved := b.resolveEdges(edges)
	b.edges, b.dropped, b.searched = resolved.kept, resolved.dropped, resolved.searched
	errs := append([]error{err}, b.errs...)
	for _, cycle := range resolved.cycles {
		errs = append(errs, b.cycleError(cycle))
	}
	return b, errors.Join(append(errs, b.refusals()...)...)
}

// neededBy tells of each resource whether another one needs it.
func (d *declarations) neededBy(soft []edge) []bool {
	needed := make([]bool, len(d.resources))
	for _, edges := range [][]edge{soft, d.edges} {
		for _, e := range edges {
			if int(e.from) < len(needed) {
				needed[e.from] = true
			}
		}
	}
	for _, m := range d.members {
		if d.sets[m.set].kind == ChangeGroup {
			needed[m.resource] = true
		}
	}
	return needed
}

// settle gives a place to what nothing placed and nobody needs: unmatched
// resources that of their layer, others the one behind all. Whoever is needed
// goes where it is needed.
func (b *builder) settle() {
	b.floating = make([]bool, len(b.resources))
	framed := b.placingSets()
	b.rest = -1
	for i := range b.resources {
		switch at := b.standing[i]; {
		case at == unmatched && !b.needed[i]:
			b.join(i, b.layerOf[i], hard, place)
		case at == unplaced && !b.needed[i] && len(framed) > 0:
			if b.rest < 0 {
				b.rest = b.addEverything(framed)
			}
			b.last = append(b.last, i)
		case at == unmatched, at == unplaced && len(framed) > 0:
			b.floating[i] = true
		}
	}
}

// placingSets are the outermost sets that place resources.
func (d *declarations) placingSets() []int {
	var out []int
	for s, set := range d.sets {
		if set.within < 0 && set.kind != Prerequisites && set.kind != ChangeGroup {
			out = append(out, s)
		}
	}
	return out
}

func (d *declarations) addEverything(sets []int) int {
	s := set{name: "all that is placed", short: "the rest", kind: Everything, within: -1}
	for _, placing := range sets {
		s.after = append(s.after, Barrier{placing, Reason{Rule: "unplaced", Detail: "what has no place comes after all that has one"}})
	}
	return d.addSet(s)
}

// lastEdges let what has no place wait for all that has one.
func (b *builder) lastEdges() []edge {
	var edges []edge
	for _, i := range b.last {
		why := Reason{Rule: "unplaced", Detail: "it has no place, and nothing depends on it"}
		edges = append(edges, edge{from: b.exit(b.rest), to: int32(i), strength: place, why: why})
	}
	return edges
}

func (b *builder) plan() *Plan {
	b.graph = newGraph(len(b.resources)+2*len(b.sets)+len(b.readyOf), b.edges)
	rank, order := b.graph.ranks()
	b.rank = rank
	b.floatMoved()
	b.sink(order)
	waves := b.numberWaves()
	b.gates()
	plan := &Plan{
		Steps: b.steps(), Waves: make([]Wave, waves), Layers: b.layers(), Frame: b.frame,
		Skipped: b.skipped, Dropped: b.droppedEdges(), Notes: b.remarks(),
	}
	b.nameWaves(plan.Waves)
	return plan
}

// floatMoved lets resources float that gave up a place by default.
func (b *builder) floatMoved() {
	for _, c := range b.dropped {
		e := c.edge
		if e.strength == place && int(e.to) < len(b.resources) && int(e.from) >= len(b.resources) && b.standing[e.to] == byDefault {
			b.floating[e.to] = true
		}
	}
}

// sink moves every floating resource to the last wave that is still early
// enough for all who need it, the neediest first.
func (b *builder) sink(order []int32) {
	for _, v := range slices.Backward(order) {
		if r, ok := b.resourceOf(v); ok && b.floating[r] {
			if e := b.firstOut(v); e != nil {
				b.rank[v] = max(b.rank[v], b.rank[e.to]-int(e.weight))
			}
		}
	}
}

// firstOut is the edge from a vertex to the one that comes first.
func (b *builder) firstOut(v int32) *edge {
	var first *edge
	for _, i := range b.graph.out.of(v) {
		e := &b.edges[i]
		if first == nil || b.rank[e.to]-int(e.weight) < b.rank[first.to]-int(first.weight) {
			first = e
		}
	}
	return first
}

// firstNeeder is the edge to the one who needs a resource earliest, applied or
// ready; nil when nobody does.
func (b *builder) firstNeeder(v int32) *edge {
	e := b.firstOut(v)
	if ready, ok := b.readyVertex[v]; ok && e != nil && e.to == ready {
		return b.firstOut(ready)
	}
	return e
}

// numberWaves makes waves of the ranks that resources have, and counts them.
func (b *builder) numberWaves() int {
	used := slices.Compact(slices.Sorted(slices.Values(b.rank[:len(b.resources)])))
	b.wave = make([]int, len(b.rank))
	for v, r := range b.rank {
		b.wave[v], _ = slices.BinarySearch(used, r)
	}
	return len(used)
}
