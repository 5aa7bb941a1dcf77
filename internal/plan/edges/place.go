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
	if stamped := d.stamped(everything); stamped || len(d.Options.Stacks) == 0 {
		d.OrderSource = d.placeByOrderSource(everything)
		d.placeByStack(false)
		return
	}
	d.OrderSource = d.placeByOrderSource(d.outsideStacks())
	d.placeByStack(true)
}

// stamped reports whether the frame is a SortOrder's stamps.
func (d *Declarations) stamped(s scope) bool {
	if d.Options.OrderSource != ordering.OrderSourceAuto {
		return d.Options.OrderSource == ordering.OrderSourceStamps
	}
	return slices.ContainsFunc(d.framesOf(s), func(f usedOrderSource) bool { return f.orderSource == ordering.OrderSourceStamps })
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
