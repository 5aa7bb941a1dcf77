package planner

import (
	"errors"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/check"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// Build plans a stream. Resources must have distinct IDs; their order does not
// matter, and they are not changed. The error is for the author of the manifests
// and joins everything that is wrong: declarations that name missing resources or
// contradict each other, resources placed after their dependents, hooks that no option
// allows, and a *CycleError for each cycle. The plan is then nil. A single resource that
// cannot be applied is no error of the plan, see Plan.Err.
func Build(resources []ordering.Resource, options ordering.Options) (*ordering.Plan, error) {
	d, err := edges.Find(resources, options)
	if err = errors.Join(edges.UnusedOptions(options, resources), err); err != nil {
		return nil, err
	}
	plan := planOf(d)
	refused := check.Unserved(d.Index, options.Excluded, options.Serves)
	for i := range plan.Steps {
		plan.Steps[i].Refused = refused[plan.Steps[i].ID]
	}
	if err := unsafeStacks(plan, options.Stacks); err != nil {
		return nil, err
	}
	return plan, nil
}

// planner turns the dependencies of a stream into a plan.
type planner struct {
	*edges.Dependencies
	graph *graph.Graph    // of the edges that are kept
	gate  []ordering.Gate // per resource: before its dependents
	rank  []int           // per vertex
	wave  []int           // per vertex
}

func planOf(d *edges.Dependencies) *ordering.Plan {
	b := &planner{Dependencies: d, graph: d.Graph()}
	rank, order := b.graph.Ranks()
	b.rank = rank
	b.scheduleLate(order)
	waves := b.numberWaves()
	b.gates()
	plan := &ordering.Plan{
		Steps: b.steps(), Waves: make([]ordering.Wave, waves), Layers: b.layers(), OrderSource: b.OrderSource,
		Skipped: b.Skipped, Dropped: b.droppedEdges(), Notes: b.PlanNotes(),
	}
	plan.Notes = append(plan.Notes, b.notesOfLeftOut(plan.Steps)...)
	b.nameWaves(plan.Waves)
	return plan
}

// numberWaves numbers the distinct ranks of resources as waves, from 0, and
// returns how many there are.
func (b *planner) numberWaves() int {
	used := slices.Compact(slices.Sorted(slices.Values(b.rank[:len(b.Resources)])))
	b.wave = make([]int, len(b.rank))
	for v, r := range b.rank {
		b.wave[v], _ = slices.BinarySearch(used, r)
	}
	return len(used)
}

// afterHooks reports whether only a hook that runs after the plan makes a resource ready. That is
// inferred, so an author who makes others wait for a workload is believed.
func (b *planner) afterHooks(i int) bool {
	r := b.Resources[i]
	declared := r.MakesPods() && (b.LayerOf[i] >= 0 || r.Annotations[ordering.WaitAnnotation] == "ready")
	return !declared && b.MadeReadyByHook(i)
}

// gates sets the gates of resources: Applied for claims that may bind on first use, for
// those that no resource of the plan makes ready and for members of layers with that gate,
// else Ready.
func (b *planner) gates() {
	b.gate = make([]ordering.Gate, len(b.Resources))
	for i, r := range b.Resources {
		if references.IsClaim(r.ID) && b.BindsOnUse(r) {
			b.gate[i] = ordering.Applied
		}
		if b.afterHooks(i) || b.FillerOf(i) == references.FilledByNothing && references.FailsOpen(r) {
			b.gate[i] = ordering.Applied
		}
	}
	for _, m := range b.Members {
		if b.Sets[m.Set].Gate == ordering.Applied && m.Out != edges.NoEdge {
			b.gate[m.Resource] = ordering.Applied
		}
	}
}
