package arrange

import (
	"slices"
)

// The text has one block for each layer. Layers that do not wait for each other may
// be in any order; a block follows the blocks that its resources need.

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

// inPlanOrder puts each block behind the blocks that its layer waits for or its
// resources need, and leaves the others in place. Where blocks need each other, the
// first of them stays first.
func (p *Plan) inPlanOrder(all [][]int) [][]int {
	behind := p.behind(all)
	out, done := make([][]int, 0, len(all)), make([]bool, len(all))
	for range all {
		next := slices.IndexFunc(all, func(block []int) bool {
			at := p.blockOf[block[0]]
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

// behind lists the blocks before each block. It notes the block of each resource.
func (p *Plan) behind(all [][]int) [][]int {
	p.blockOf = make([]int, len(p.metas))
	layerIn := map[int]int{} // by layer of the plan: its block
	for at, block := range all {
		for _, i := range block {
			p.blockOf[i] = at
			if p.Steps[i] != nil && p.placed[i] {
				for _, layer := range p.Steps[i].Layers {
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
			if p.Steps[i] == nil || p.early[i] || p.late[i] {
				continue
			}
			for _, b := range p.Steps[i].After {
				if before, known := layerIn[b.Layer]; known {
					add(at, before)
				}
			}
			for _, before := range p.neededBlocks(i) {
				add(at, before)
			}
		}
	}
	return out
}

// neededBlocks returns the blocks of the resources that a resource needs, directly or
// through unmatched resources that come before it.
func (p *Plan) neededBlocks(i int) []int {
	var out []int
	seen := map[int]bool{i: true}
	for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
		for _, need := range p.Steps[queue[0]].Needs {
			at := p.at[need.ID]
			switch {
			case seen[at]:
			case p.early[at]:
				queue = append(queue, at)
			case !p.late[at]:
				out = append(out, p.blockOf[at])
			}
			seen[at] = true
		}
	}
	return out
}
