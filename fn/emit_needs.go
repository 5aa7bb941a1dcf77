package fn

import (
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// neededThere is what emit takes from the plan beside the layers: which resources
// go before what needs them, and the needs that the layers do not show.
type neededThere struct {
	*arrangement         // nil: nothing but the layers is known
	ours         []bool  // whether this order stamped the resource
	dependents   [][]int // of each resource
}

func newNeededThere(a *arrangement, ours []bool) *neededThere {
	n := &neededThere{arrangement: a, ours: ours}
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

// early reports whether no selector placed the resource, and it goes before what
// needs it.
func (n *neededThere) early(i int) bool { return n.arrangement != nil && n.arrangement.early[i] }

// first reports whether the resource goes before everything: a CRD or Namespace
// that needs nothing itself.
func (n *neededThere) first(i int) bool {
	return n.early(i) && ordering.IsPrerequisite(n.metas[i].ID) && len(n.steps[i].Needs) == 0
}

// single are the resources that one waits for beside the layers before its own:
// those that no selector placed, where it was itself not placed any, and within
// its layer those that must be ready. What need only be applied is left out where
// it may not become ready at once: other tools would wait for that.
func (n *neededThere) single(i int, layers []int) []int {
	if n.arrangement == nil || n.steps[i] == nil {
		return nil
	}
	var out []int
	for _, need := range n.steps[i].Needs {
		at := n.at[need.ID]
		within := layers[i] >= 0 && layers[i] == layers[at]
		beside := n.early(at) || n.early(i) || within && need.Gate == ordering.Ready
		if at != i && beside && !n.first(at) && (need.Gate == ordering.Ready || ordering.ReadyAtOnce(need.ID)) {
			out = append(out, at)
		}
	}
	return out
}

// companion is the resource with which one goes that no selector placed and that
// may become ready only when it is used: the first of the same wave that needs it.
// -1 for none.
func (n *neededThere) companion(i int) int {
	if !n.early(i) || ordering.ReadyAtOnce(n.metas[i].ID) {
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

// companions are a resource and, as far as each has one, the companion of the one
// before.
func (n *neededThere) companions(i int) []int {
	all := []int{i}
	for j := n.companion(i); j >= 0; j = n.companion(j) {
		all = append(all, j)
	}
	return all
}

// users are all that wait for a resource, directly or not.
func (n *neededThere) users(i int) map[int]bool {
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
