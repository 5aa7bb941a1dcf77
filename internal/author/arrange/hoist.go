package arrange

import (
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// hoist moves unmatched resources before their first dependent, and before its
// whole block if possible. ranks number the blocks. moved is the reason for
// each move, or "".
func (p *Plan) hoist(sorted, ranks []int) (out []int, moved []string) {
	h := &hoister{Plan: p, done: make([]bool, len(p.metas)), moved: make([]string, len(p.metas)), place: make([]int, len(p.metas))}
	for place, i := range sorted {
		h.place[i] = place
	}
	h.putFree(slices.DeleteFunc(slices.Clone(sorted), func(i int) bool { return !p.early[i] || !ordering.IsPrerequisite(p.metas[i].ID) }))
	for _, block := range p.inPlanOrder(blocks(sorted, ranks)) {
		h.block(block)
		h.putLate()
	}
	h.put(h.waiting)
	return h.out, h.moved
}

// hoister writes the resources in sequence.
type hoister struct {
	*Plan
	out   []int
	done  []bool   // already written
	moved []string // why it was written before its block
	place []int    // position by layer and kind
	// waiting are resources of written blocks that need unwritten ones.
	waiting []int
}

// block writes the resources of a block, preceded by their needs.
func (h *hoister) block(members []int) {
	var needed []int
	for _, i := range members {
		if h.placed[i] {
			needed = append(needed, h.earlyNeeds(i)...)
		}
	}
	h.putFree(h.inPlace(needed))
	for _, i := range members {
		if !h.done[i] && !h.placed[i] && h.needsLater(i, map[int]bool{}) {
			h.waiting = append(h.waiting, i)
			continue
		}
		if h.placed[i] {
			h.put(h.earlyNeeds(i))
		}
		h.write(i)
	}
}

// needsLater reports whether a resource needs one of a block that is not written yet,
// also by way of others of its own block that no selector placed.
func (h *hoister) needsLater(i int, seen map[int]bool) bool {
	seen[i] = true
	return h.Steps[i] != nil && slices.ContainsFunc(h.Steps[i].Needs, func(need ordering.Need) bool {
		at := h.at[need.ID]
		switch {
		case h.done[at] || seen[at]:
			return false
		case h.blockOf[at] != h.blockOf[i]:
			return true
		}
		return h.late[at] || h.early[at] && h.needsLater(at, seen)
	})
}

// putLate writes the waiting resources whose needs are all written.
func (h *hoister) putLate() {
	for moved := true; moved; {
		moved = false
		for _, i := range h.inPlace(h.waiting) {
			if !h.done[i] && !slices.ContainsFunc(h.Steps[i].Needs, func(need ordering.Need) bool { return !h.done[h.at[need.ID]] }) {
				h.put([]int{i})
				moved = true
			}
		}
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(i int) bool { return h.done[i] })
}

// putFree writes the resources that do not depend on an unwritten matched
// resource.
func (h *hoister) putFree(resources []int) {
	known := map[int]bool{}
	var free func(i int) bool
	free = func(i int) bool {
		if answer, ok := known[i]; ok {
			return answer
		}
		known[i] = true
		for _, need := range h.Steps[i].Needs {
			at := h.at[need.ID]
			known[i] = known[i] && (h.done[at] || h.early[at] && free(at))
		}
		return known[i]
	}
	h.put(slices.DeleteFunc(resources, func(i int) bool { return !free(i) }))
}

// put writes resources before their block, each preceded by its needs.
func (h *hoister) put(resources []int) {
	for _, i := range resources {
		if h.done[i] {
			continue
		}
		h.put(h.earlyNeeds(i))
		h.moved[i] = h.Steps[i].Why.Detail
		h.write(i)
	}
}

func (h *hoister) write(i int) {
	if !h.done[i] {
		h.done[i] = true
		h.out = append(h.out, i)
	}
}

// earlyNeeds returns the unmatched resources that a resource waits for and that
// are not written yet.
func (h *hoister) earlyNeeds(i int) []int {
	var out []int
	for _, need := range h.Steps[i].Needs {
		if at := h.at[need.ID]; h.early[at] && !h.done[at] {
			out = append(out, at)
		}
	}
	return h.inPlace(out)
}

// inPlace sorts resources by layer and kind.
func (h *hoister) inPlace(resources []int) []int {
	slices.SortFunc(resources, func(a, b int) int { return h.place[a] - h.place[b] })
	return slices.Compact(resources)
}
