package fn

import (
	"slices"
)

// The text has one block for each layer. Layers that do not wait for each other may
// be in any order; a block follows those whose resources its own resources need.

// blocks cuts sorted resources where their ranks change.
func blocks(sorted, ranks []int) [][]int {
	var out [][]int
	for begin := 0; begin < len(sorted); {
		end := begin + 1
		for end < len(sorted) && ranks[sorted[end]] == ranks[sorted[begin]] {
			end++
		}
		out = append(out, sorted[begin:end])
		begin = end
	}
	return out
}

// inPlanOrder puts each block behind those that its layer waits for and those whose
// resources its own need, and leaves the others in place. Where blocks need each
// other, the first of them stays first.
func (a *textPlan) inPlanOrder(all [][]int) [][]int {
	behind := a.behind(all)
	out, done := make([][]int, 0, len(all)), make([]bool, len(all))
	for range all {
		next := slices.IndexFunc(all, func(block []int) bool {
			at := a.blockOf[block[0]]
			return !done[at] && !slices.ContainsFunc(behind[at], func(b int) bool { return !done[b] })
		})
		if next < 0 {
			next = slices.Index(done, false)
		}
		done[next] = true
		out = append(out, all[next])
	}
	return out
}

// behind lists, for each block, those that come before it. It notes in which block
// each resource is.
func (a *textPlan) behind(all [][]int) [][]int {
	a.blockOf = make([]int, len(a.metas))
	layerIn := map[int]int{} // by layer of the plan: its block
	for at, block := range all {
		for _, i := range block {
			a.blockOf[i] = at
			if a.steps[i] != nil && a.placed[i] {
				for _, layer := range a.steps[i].Layers {
					layerIn[layer] = at
				}
			}
		}
	}
	out := make([][]int, len(all))
	add := func(at, before int) {
		if before != at && !slices.Contains(out[at], before) {
			out[at] = append(out[at], before)
		}
	}
	for at, block := range all {
		for _, i := range block {
			if a.steps[i] == nil || a.early[i] || a.late[i] {
				continue
			}
			for _, b := range a.steps[i].After {
				if before, known := layerIn[b.Layer]; known {
					add(at, before)
				}
			}
			for _, before := range a.neededBlocks(i) {
				add(at, before)
			}
		}
	}
	return out
}

// neededBlocks returns the blocks of the resources that a resource needs, directly or
// through unmatched resources that come before it.
func (a *textPlan) neededBlocks(i int) []int {
	var out []int
	seen := map[int]bool{i: true}
	for road := []int{i}; len(road) > 0; road = road[1:] {
		for _, need := range a.steps[road[0]].Needs {
			at := a.at[need.ID]
			switch {
			case seen[at]:
			case a.early[at]:
				road = append(road, at)
			case !a.late[at]:
				out = append(out, a.blockOf[at])
			}
			seen[at] = true
		}
	}
	return out
}
