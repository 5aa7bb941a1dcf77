package edges

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Declarations holds what authors declared: edges between resources, sets of
// resources, and the order of the sets.
type Declarations struct {
	*references.Index
	Layers
	Remarks
	Options           ordering.Options
	OrderSource       ordering.OrderSource    // what placed resources
	Edges             []graph.Edge            // between resources, or to and from sets
	External          map[int][]ordering.Need // per resource: what its annotations name as external
	ExcludedIDs       map[object.ID]bool      // of Options.Excluded
	ExcludedResources []ordering.Resource     // of Options.Excluded, without hooks, sorted
	changes           changes
	secretive         mutation.Secretive
	skipped           map[object.ID]ordering.Reason
}

// ReadDeclared reads all declarations of a stream; skipped are the hooks that WithoutHooks took
// out of it. It collects errors in Errs and keeps everything that it could read.
func ReadDeclared(ix *references.Index, options ordering.Options, skipped []ordering.Skipped) *Declarations {
	d := &Declarations{Index: ix, Layers: newLayers(len(ix.Resources)), Options: options, External: map[int][]ordering.Need{}, ExcludedIDs: map[object.ID]bool{}, skipped: map[object.ID]ordering.Reason{}}
	for _, s := range skipped {
		d.skipped[s.ID] = s.Why
	}
	for _, r := range options.Excluded {
		d.ExcludedIDs[r.ID] = true
	}
	d.ExcludedResources = withoutAnyHooks(options.Excluded)
	slices.SortFunc(d.ExcludedResources, func(a, b ordering.Resource) int { return object.Compare(a.ID, b.ID) })
	d.secretive = secretiveIn(ix.Resources)
	for i, r := range ix.Resources {
		d.dependsOn(i, r)
		d.mutations(i, r)
		if err := references.CheckProvidesOf(r); err != nil {
			d.Errs = append(d.Errs, err)
		}
	}
	d.changeGroups()
	d.place()
	d.noteUnusedCharts()
	d.placePrerequisites()
	return d
}
