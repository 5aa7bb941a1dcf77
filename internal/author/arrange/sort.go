package arrange

import (
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Sort returns the indices of the resources in the order of the text: excluded ones
// first, in input order, then the others by layer and kind, with unmatched ones before
// their dependents. reasons has, for each resource that comes before its dependents
// although no selector matched it, the reason; else "".
func (s Stream) Sort(plan *Plan) (sorted []int, reasons []string) {
	ranks := s.ranks()
	sorted = make([]int, len(s.Metas))
	for i := range sorted {
		sorted[i] = i
	}
	for range maxRounds {
		before := sorted
		if sorted, reasons = s.sortOnce(plan, ranks, before); slices.Equal(sorted, before) {
			break
		}
	}
	return sorted, reasons
}

// maxRounds is how often resources are sorted at most. Where input order decides between
// resources that dependencies move, the result of the first round may sort to another one.
const maxRounds = 10

// sortOnce is Sort for the resources in this order of the input.
func (s Stream) sortOnce(plan *Plan, ranks, input []int) (sorted []int, reasons []string) {
	metas, rankOf := make([]object.Meta, len(input)), make([]int, len(input))
	for n, i := range input {
		metas[n], rankOf[n] = s.Metas[i], ranks[i]
	}
	var rest []int
	for _, n := range s.Order.Sort(metas, rankOf) {
		if i := input[n]; !s.Excluded[i] {
			rest = append(rest, i)
		}
	}
	reasons = make([]string, len(s.Metas))
	if plan != nil && s.needsPlan() && s.Order.OutputOrder == sortorder.ByPlan {
		rest, reasons = plan.hoist(rest, ranks)
	}
	for _, i := range input {
		if s.Excluded[i] {
			sorted = append(sorted, i)
		}
	}
	return append(sorted, rest...), reasons
}
