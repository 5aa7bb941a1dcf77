package fn

import (
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// arrangement is the plan of the stamped stream, as the text and emit follow it.
type arrangement struct {
	metas []object.Meta
	steps []*ordering.Step // per resource; nil for what is aside
	at    map[object.ID]int

	placed []bool // per resource: a selector placed it
	early  []bool // per resource: no selector placed it, and it goes before what needs it
}

// arrange plans the stream as ordapply would. It is nil where that changes nothing:
// when nothing is emitted, and no selector placed anything or placed everything.
func (d Decider) arrange(metas []object.Meta, stamps []ordering.Stamp) *arrangement {
	if len(d.Order.Emit) == 0 && !mixed(stamps) {
		return nil
	}
	resources, ids := d.resources(metas, stamps)
	plan := ordering.Arrange(resources)
	if plan == nil {
		return nil
	}
	a := &arrangement{metas: metas, steps: make([]*ordering.Step, len(metas)), at: make(map[object.ID]int, len(metas)), placed: make([]bool, len(metas)), early: make([]bool, len(metas))}
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
		a.steps[i] = a.steps[a.at[ids[i]]] // of resources with one ID, the first was planned
		a.placed[i] = !s.Unmatched
		a.early[i] = s.Unmatched && (a.steps[i].Floats() || ordering.IsPrerequisite(metas[i].ID))
	}
	return a
}

// mixed reports whether selectors placed some resources and not all.
func mixed(stamps []ordering.Stamp) bool {
	placed, unmatched := false, false
	for _, s := range stamps {
		placed = placed || s.Order != "" && !s.Unmatched
		unmatched = unmatched || s.Unmatched
	}
	return placed && unmatched
}

// previousNames is where kustomize notes the names that a resource had before
// prefixes, suffixes and hashes. While functions run, others still name it so: the
// references are corrected at the end of the build, and by the prefixes and suffixes
// where several resources had one name.
const (
	previousNames = "internal.config.kubernetes.io/previousNames"
	namePrefixes  = "internal.config.kubernetes.io/prefixes"
	nameSuffixes  = "internal.config.kubernetes.io/suffixes"
)

// before is the ID that a resource had first; false where it has it still.
func before(m object.Meta) (object.ID, bool) {
	id := m.ID
	id.Name, _, _ = strings.Cut(m.Annotations[previousNames], ",")
	return id, id.Name != "" && !ordering.IsPrerequisite(id)
}

// sharedNames are the IDs that several resources had first.
func sharedNames(metas []object.Meta) map[object.ID]bool {
	count, shared := map[object.ID]int{}, map[object.ID]bool{}
	for _, m := range metas {
		if id, renamed := before(m); renamed {
			count[id]++
			shared[id] = count[id] > 1
		}
	}
	return shared
}

// referredTo are the resources as others name them. One of several that had the
// same name keeps its own.
func referredTo(metas []object.Meta) []object.ID {
	ids, taken := make([]object.ID, len(metas)), make(map[object.ID]bool, len(metas))
	for i, m := range metas {
		ids[i], taken[m.ID] = m.ID, true
	}
	shared := sharedNames(metas)
	for i, m := range metas {
		if id, renamed := before(m); renamed && !taken[id] && !shared[id] {
			ids[i], taken[id] = id, true
		}
	}
	return ids
}

// resources are the stamped resources as a plan reads them, and the ID of each
// there. What an earlier run wrote is not there twice.
func (d Decider) resources(metas []object.Meta, stamps []ordering.Stamp) ([]ordering.Resource, []object.ID) {
	out, ids, shared := make([]ordering.Resource, 0, len(metas)), referredTo(metas), sharedNames(metas)
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
		r.Family = m.Annotations[namePrefixes] + " " + m.Annotations[nameSuffixes]
		if id, _ := before(m); shared[id] {
			r.Formerly = id.Name
		}
		if d.Objects != nil && ordering.Refers(m.ID) {
			r.Object = d.Objects(i)
		}
		out = append(out, r)
	}
	return out, ids
}

// hoist moves what no selector placed before the first resource that needs it,
// and before the whole block of that resource where it can stand there. ranks
// number the blocks. moved says of each resource why it was moved, "" if it was not.
func (a *arrangement) hoist(sorted, ranks []int) (out []int, moved []string) {
	h := &hoister{arrangement: a, done: make([]bool, len(a.metas)), moved: make([]string, len(a.metas)), place: make([]int, len(a.metas))}
	for place, i := range sorted {
		h.place[i] = place
	}
	h.putFree(slices.DeleteFunc(slices.Clone(sorted), func(i int) bool { return !a.early[i] || !ordering.IsPrerequisite(a.metas[i].ID) }))
	for begin := 0; begin < len(sorted); {
		end := begin + 1
		for end < len(sorted) && ranks[sorted[end]] == ranks[sorted[begin]] {
			end++
		}
		h.block(sorted[begin:end])
		begin = end
	}
	return h.out, h.moved
}

// hoister writes the resources one after the other.
type hoister struct {
	*arrangement
	out   []int
	done  []bool   // is written
	moved []string // why it was written before its block
	place []int    // where it would stand by its layer and kind
}

// block writes the resources of one block, and before them what they need.
func (h *hoister) block(members []int) {
	var needed []int
	for _, i := range members {
		if h.placed[i] {
			needed = append(needed, h.earlyNeeds(i)...)
		}
	}
	h.putFree(h.inPlace(needed))
	for _, i := range members {
		if h.placed[i] {
			h.put(h.earlyNeeds(i))
		}
		h.write(i)
	}
}

// putFree writes those resources that need nothing that is placed and not
// written yet.
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

// put writes resources ahead of their block, and before each what it needs.
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

// earlyNeeds are the resources that one waits for, that no selector placed, and
// that are not written yet.
func (h *hoister) earlyNeeds(i int) []int {
	var out []int
	for _, need := range h.steps[i].Needs {
		if at := h.at[need.ID]; h.early[at] && !h.done[at] {
			out = append(out, at)
		}
	}
	return h.inPlace(out)
}

// inPlace sorts resources as they would stand by their layers and kinds.
func (h *hoister) inPlace(resources []int) []int {
	slices.SortFunc(resources, func(a, b int) int { return h.place[a] - h.place[b] })
	return slices.Compact(resources)
}
