package arrange

import (
	"slices"

	"github.com/ordapply/ordapply/sortorder"
)

// Sort returns the indices of the resources in the order of the text: excluded ones
// first, in input order, then the others by layer and kind, with unmatched ones before
// their dependents. reasons has, for each resource that comes before its dependents
// although no selector matched it, the reason; else "".
func (s Stream) Sort(plan *Plan) (sorted []int, reasons []string) {
	ranks := s.ranks()
	reasons = make([]string, len(s.Metas))
	rest := slices.DeleteFunc(s.Order.Sort(s.Metas, ranks), func(i int) bool { return s.Excluded[i] })
	if plan != nil && s.needsPlan() && s.Order.OutputOrder == sortorder.ByPlan {
		rest, reasons = plan.hoist(rest, ranks)
	}
	for i, excluded := range s.Excluded {
		if excluded {
			sorted = append(sorted, i)
		}
	}
	return append(sorted, rest...), reasons
}
