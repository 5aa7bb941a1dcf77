package fn

import (
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// textPlan is the plan of the stamped stream, which determines the text
// order and emitted annotations.
type textPlan struct {
	metas []object.Meta
	steps []*ordering.Step // per resource; nil for excluded ones
	at    map[object.ID]int

	placed  []bool // per resource: a selector placed it
	early   []bool // per resource: no selector placed it, and it goes before what needs it
	late    []bool // per resource: no selector placed it, and it needs what comes after the place of the rest
	blockOf []int  // per resource: its block of the text
}

// arrange plans the stream as ordapply would. It returns nil if the plan has no
// effect: if nothing is emitted, and selectors matched all resources or none.
func (d Planner) arrange(metas []object.Meta, stamps []ordering.Stamp) *textPlan {
	if len(d.Order.Emit) == 0 && !partlyMatched(stamps) && !branched(stamps) {
		return nil
	}
	resources, ids := d.resources(metas, stamps)
	plan := ordering.Arrange(resources)
	if plan == nil {
		return nil
	}
	a := &textPlan{metas: metas, steps: make([]*ordering.Step, len(metas)), at: make(map[object.ID]int, len(metas)), placed: make([]bool, len(metas)), early: make([]bool, len(metas)), late: make([]bool, len(metas))}
	for i, id := range slices.Backward(ids) {
		if stamps[i].Order != "" {
			a.at[id] = i
		}
	}
	for i := range plan.Steps {
		a.steps[a.at[plan.Steps[i].ID]] = &plan.Steps[i]
	}
	for i, s := range stamps {
		if s.Order == "" {
			continue
		}
		a.steps[i] = a.steps[a.at[ids[i]]] // of resources with the same ID, the first was planned
		a.placed[i] = !s.Unmatched
		a.early[i] = s.Unmatched && (a.steps[i].PlacedByDependents() || ordering.IsPrerequisite(metas[i].ID))
		a.late[i] = s.Unmatched && !a.early[i] && !slices.ContainsFunc(a.steps[i].Layers, func(l int) bool { return plan.Layers[l].Name == s.LayerName() })
	}
	return a
}

// partlyMatched reports whether selectors matched some resources but not all.
func partlyMatched(stamps []ordering.Stamp) bool {
	placed, unmatched := false, false
	for _, s := range stamps {
		placed = placed || s.Order != "" && !s.Unmatched
		unmatched = unmatched || s.Unmatched
	}
	return placed && unmatched
}

// branched reports whether layers name what they need: they may not form a chain.
func branched(stamps []ordering.Stamp) bool {
	return slices.ContainsFunc(stamps, func(s ordering.Stamp) bool { return s.Needs != nil })
}

// previousNames is the annotation in which kustomize stores the names that a
// resource had before prefixes, suffixes and hashes. While functions run, other
// resources still use these names; kustomize updates references at the end of
// the build, using prefixes and suffixes if several resources had the same
// name.
const (
	previousNames = "internal.config.kubernetes.io/previousNames"
	namePrefixes  = "internal.config.kubernetes.io/prefixes"
	nameSuffixes  = "internal.config.kubernetes.io/suffixes"
)

// originalID returns the original ID of a resource; ok is false if it was not renamed.
func originalID(m object.Meta) (object.ID, bool) {
	id := m.ID
	id.Name, _, _ = strings.Cut(m.Annotations[previousNames], ",")
	return id, id.Name != "" && !ordering.IsPrerequisite(id)
}

// sharedNames returns the original IDs that several resources had.
func sharedNames(metas []object.Meta) map[object.ID]bool {
	count, shared := map[object.ID]int{}, map[object.ID]bool{}
	for _, m := range metas {
		if id, renamed := originalID(m); renamed {
			count[id]++
			shared[id] = count[id] > 1
		}
	}
	return shared
}

// referenceIDs returns the IDs by which other manifests refer to resources.
// Resources that shared an original name keep their own.
func referenceIDs(metas []object.Meta) []object.ID {
	ids, taken := make([]object.ID, len(metas)), make(map[object.ID]bool, len(metas))
	for i, m := range metas {
		ids[i], taken[m.ID] = m.ID, true
	}
	shared := sharedNames(metas)
	for i, m := range metas {
		if id, renamed := originalID(m); renamed && !taken[id] && !shared[id] {
			ids[i], taken[id] = id, true
		}
	}
	return ids
}

// resources returns the stamped resources as input of a plan, and the ID of
// each. Annotations of an earlier run are removed.
func (d Planner) resources(metas []object.Meta, stamps []ordering.Stamp) ([]ordering.Resource, []object.ID) {
	out, ids, shared := make([]ordering.Resource, 0, len(metas)), referenceIDs(metas), sharedNames(metas)
	for i, m := range metas {
		if stamps[i].Order == "" {
			continue
		}
		annotations := make(map[string]string, len(m.Annotations)+2)
		maps.Copy(annotations, m.Annotations)
		for _, key := range written(m) {
			delete(annotations, key)
		}
		maps.Copy(annotations, stamps[i].Annotations())
		r := ordering.Resource{Meta: m}
		r.ID, r.Annotations = ids[i], annotations
		r.RenameGroup = m.Annotations[namePrefixes] + " " + m.Annotations[nameSuffixes]
		if id, _ := originalID(m); shared[id] {
			r.PreviousName = id.Name
		}
		if d.Objects != nil && ordering.HasReferences(m.ID) {
			r.Object = d.Objects(i)
		}
		out = append(out, r)
	}
	return out, ids
}

// hoist moves unmatched resources before their first dependent, and before its
// whole block if possible. ranks number the blocks. moved is the reason for
// each move, or "".
func (a *textPlan) hoist(sorted, ranks []int) (out []int, moved []string) {
	h := &hoister{textPlan: a, done: make([]bool, len(a.metas)), moved: make([]string, len(a.metas)), place: make([]int, len(a.metas))}
	for place, i := range sorted {
		h.place[i] = place
	}
	h.putFree(slices.DeleteFunc(slices.Clone(sorted), func(i int) bool { return !a.early[i] || !ordering.IsPrerequisite(a.metas[i].ID) }))
	for _, block := range a.inPlanOrder(blocks(sorted, ranks)) {
		h.block(block)
		h.putLate()
	}
	h.put(h.waiting)
	return h.out, h.moved
}

// hoister writes the resources in sequence.
type hoister struct {
	*textPlan
	out   []int
	done  []bool   // already written
	moved []string // why it was written before its block
	place []int    // position by layer and kind
	// waiting are resources of blocks that are written, which need what is not.
	waiting []int
}

// block writes the resources of a block, preceded by what they need.
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
	return h.steps[i] != nil && slices.ContainsFunc(h.steps[i].Needs, func(need ordering.Need) bool {
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

// putLate writes those of the waiting resources whose needs are all written.
func (h *hoister) putLate() {
	for moved := true; moved; {
		moved = false
		for _, i := range h.inPlace(h.waiting) {
			if !h.done[i] && !slices.ContainsFunc(h.steps[i].Needs, func(need ordering.Need) bool { return !h.done[h.at[need.ID]] }) {
				h.put([]int{i})
				moved = true
			}
		}
	}
	h.waiting = slices.DeleteFunc(h.waiting, func(i int) bool { return h.done[i] })
}

// putFree writes those of the resources that do not depend on an unwritten
// matched resource.
func (h *hoister) putFree(resources []int) {
	known := map[int]bool{}
	var free func(i int) bool
	free = func(i int) bool {
		if answer, ok := known[i]; ok {
			return answer
		}
		known[i] = true
		for _, need := range h.steps[i].Needs {
			at := h.at[need.ID]
			known[i] = known[i] && (h.done[at] || h.early[at] && free(at))
		}
		return known[i]
	}
	h.put(slices.DeleteFunc(resources, func(i int) bool { return !free(i) }))
}

// put writes resources before their block, each preceded by what it needs.
func (h *hoister) put(resources []int) {
	for _, i := range resources {
		if h.done[i] {
			continue
		}
		h.put(h.earlyNeeds(i))
		h.moved[i] = h.steps[i].Why.Detail
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
	for _, need := range h.steps[i].Needs {
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
