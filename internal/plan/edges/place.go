package edges

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// place places resources: by a SortOrder's stamps across the whole stream, or
// by another frame within each application and among the resources outside
// applications. It orders applications by their stacks.
func (d *Declarations) place() {
	all := make([]int, len(d.Resources)+len(d.ExcludedResources))
	for i := range all {
		all[i] = i
	}
	everything := d.scopeOf("", -1, all)
	found := d.framesOf(everything)
	if d.stamped(found) || len(d.Options.Stacks) == 0 {
		d.OrderSource = d.placeByOrderSource(everything, found)
		d.placeByStack(false)
		return
	}
	outside := d.outsideStacks()
	d.OrderSource = d.placeByOrderSource(outside, d.framesOf(outside))
	d.placeByStack(true)
}

// stamped reports whether the frame is a SortOrder's stamps, given the ones found.
func (d *Declarations) stamped(found []usedOrderSource) bool {
	if d.Options.OrderSource != ordering.OrderSourceAuto {
		return d.Options.OrderSource == ordering.OrderSourceStamps
	}
	return slices.ContainsFunc(found, func(f usedOrderSource) bool { return f.orderSource == ordering.OrderSourceStamps })
}

// placePrerequisites puts CRDs, Namespaces and the kinds that options name into
// a set that everything waits for, unless their author placed them.
func (d *Declarations) placePrerequisites() {
	if d.Options.NoPrerequisites {
		return
	}
	for i, r := range d.Resources {
		if d.Placements[i] == Placed || !isPrerequisite(d.Options, r) {
			continue
		}
		if d.Prerequisites < 0 {
			d.Prerequisites = d.AddSet(Set{Name: "prerequisites", Short: "prerequisites", Kind: ordering.Prerequisites, Within: -1})
		}
		d.Placements[i] = Early
		d.Join(i, d.Prerequisites, NoEdge, graph.Hard)
	}
}
