package fn

import (
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// planNeeds holds what emit takes from the plan in addition to layers: the
// resources that come before their dependents, and needs that layers do not
// express.
type planNeeds struct {
	*textPlan                              // nil: nothing but the layers is known
	before     func(before, rank int) bool // reports whether a layer waits for another
	ours       []bool                      // whether this order stamped the resource
	dependents [][]int                     // of each resource
}

func newPlanNeeds(a *textPlan, ours []bool) *planNeeds {
	n := &planNeeds{textPlan: a, ours: ours}
	if a == nil {
		return n
	}
	n.dependents = make([][]int, len(a.metas))
	for i, step := range a.steps {
		if step == nil {
			continue
		}
		for _, need := range step.Needs {
			at := a.at[need.ID]
			n.dependents[at] = append(n.dependents[at], i)
		}
	}
	return n
}

// early reports whether the resource is unmatched and comes before its
// dependents.
func (n *planNeeds) early(i int) bool { return n.textPlan != nil && n.textPlan.early[i] }

// late reports whether no selector placed the resource, and it needs what comes after
// the place of the rest: no layer waits for it.
func (n *planNeeds) late(i int) bool { return n.textPlan != nil && n.textPlan.late[i] }

// first reports whether the resource comes before everything: a CRD or
// Namespace without needs.
func (n *planNeeds) first(i int) bool {
	return n.early(i) && ordering.IsPrerequisite(n.metas[i].ID) && len(n.steps[i].Needs) == 0
}

// single returns the resources that a resource waits for in addition to the
// layers before its own: unmatched ones, all of them if it is unmatched itself,
// and within its layer those with gate Ready. Needs with gate Applied are
// omitted if the resource may not become ready at once, since other tools would
// wait for that.
func (n *planNeeds) single(i int, layers []int) []int {
	if n.textPlan == nil || n.steps[i] == nil {
		return nil
	}
	var out []int
	for _, need := range n.steps[i].Needs {
		at := n.at[need.ID]
		within := layers[i] >= 0 && layers[i] == layers[at]
		beyond := layers[i] >= 0 && layers[at] >= 0 && layers[i] != layers[at] && !n.before(layers[at], layers[i])
		beside := n.early(at) || n.early(i) || n.late(at) || n.late(i) || beyond || within && need.Gate == ordering.Ready
		if at != i && beside && !n.first(at) && (need.Gate == ordering.Ready || ordering.ReadyWhenApplied(need.ID)) {
			out = append(out, at)
		}
	}
	return out
}

// companion returns the resource with which an unmatched resource is applied if
// it may become ready only when it is used: its first dependent in the same
// wave; -1 if none.
func (n *planNeeds) companion(i int) int {
	if !n.early(i) || ordering.ReadyWhenApplied(n.metas[i].ID) {
		return -1
	}
	best := -1
	for _, j := range n.dependents[i] {
		if n.ours[j] && n.steps[j].Wave == n.steps[i].Wave && (best < 0 || object.Compare(n.metas[j].ID, n.metas[best].ID) < 0) {
			best = j
		}
	}
	return best
}

// companions returns a resource followed by its chain of companions.
func (n *planNeeds) companions(i int) []int {
	all := []int{i}
	for j := n.companion(i); j >= 0; j = n.companion(j) {
		all = append(all, j)
	}
	return all
}

// users returns all resources that wait for a resource, directly or
// transitively.
func (n *planNeeds) users(i int) map[int]bool {
	seen := map[int]bool{i: true}
	for road := []int{i}; len(road) > 0; road = road[1:] {
		for _, j := range n.dependents[road[0]] {
			if !seen[j] {
				seen[j] = true
				road = append(road, j)
			}
		}
	}
	return seen
}
