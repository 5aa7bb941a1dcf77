package arrange

import (
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/sortorder"
)

// Stream is the stamped resources of a stream. The lists have one entry for each.
type Stream struct {
	Order      *sortorder.Order
	Metas      []object.Meta
	Placements []sortorder.Placement
	Stamps     []stamp.Stamp // zero for resources without one
	Ours       []bool        // whether this order made the stamp
	Excluded   []bool        // whether the order ignores the resource, which comes first in the text
	// Objects returns the manifest of a resource by index, or is nil. Its references
	// determine where unmatched resources go. It is not called for every resource.
	Objects func(i int) map[string]any
}

// Plan is the plan of a stream as ordapply would make it. It determines where the text
// has unmatched resources, and the annotations for other tools. A nil Plan has no effect.
type Plan struct {
	Steps []*ordering.Step // per resource; nil for excluded ones

	metas   []object.Meta
	at      map[object.ID]int
	placed  []bool // per resource: a selector placed it
	early   []bool // per resource: no selector placed it, and it goes before its dependents
	late    []bool // per resource: unmatched, and it needs one behind the place of the rest
	blockOf []int  // per resource: its block of the text
}

// At returns the index of the planned resource with this ID.
func (p *Plan) At(id object.ID) int { return p.at[id] }

// Early reports whether the resource is unmatched and comes before its dependents.
func (p *Plan) Early(i int) bool { return p != nil && p.early[i] }

// Late reports whether no selector placed the resource, and it needs one behind the
// place of the rest: no layer waits for it.
func (p *Plan) Late(i int) bool { return p != nil && p.late[i] }

// Plan plans the stream. It returns nil if the plan has no effect: if nothing is
// emitted, and selectors matched all resources or none.
func (s Stream) Plan() *Plan {
	if len(s.Order.Emit) == 0 && !s.needsPlan() {
		return nil
	}
	resources, ids := s.resources()
	plan := planner.Arrange(resources)
	if plan == nil {
		return nil
	}
	n := len(s.Metas)
	p := &Plan{
		metas: s.Metas, Steps: make([]*ordering.Step, n), at: make(map[object.ID]int, n),
		placed: make([]bool, n), early: make([]bool, n), late: make([]bool, n),
	}
	for i, id := range slices.Backward(ids) {
		if s.Stamps[i].Order != "" {
			p.at[id] = i
		}
	}
	for i := range plan.Steps {
		p.Steps[p.at[plan.Steps[i].ID]] = &plan.Steps[i]
	}
	for i, stamp := range s.Stamps {
		if stamp.Order == "" {
			continue
		}
		p.Steps[i] = p.Steps[p.at[ids[i]]] // of resources with the same ID, the first was planned
		p.placed[i] = !stamp.Unmatched
		p.early[i] = stamp.Unmatched && (p.Steps[i].PlacedByDependents() || ordering.IsPrerequisite(s.Metas[i].ID))
		p.late[i] = stamp.Unmatched && !p.early[i] && !slices.ContainsFunc(p.Steps[i].Layers, func(l int) bool { return plan.Layers[l].Name == stamp.LayerName() })
	}
	return p
}

// needsPlan reports whether the text depends on the plan: selectors matched some
// resources but not all, or layers name their needs and may not form a chain.
func (s Stream) needsPlan() bool {
	placed, unmatched, branched := false, false, false
	for _, stamp := range s.Stamps {
		placed = placed || stamp.Order != "" && !stamp.Unmatched
		unmatched = unmatched || stamp.Unmatched
		branched = branched || stamp.Needs != nil
	}
	return placed && unmatched || branched
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
func (s Stream) resources() ([]ordering.Resource, []object.ID) {
	out, ids, shared := make([]ordering.Resource, 0, len(s.Metas)), referenceIDs(s.Metas), sharedNames(s.Metas)
	ofLayer := map[int]map[string]string{}
	for i, m := range s.Metas {
		if s.Stamps[i].Order == "" {
			continue
		}
		r := ordering.Resource{Meta: m}
		r.ID, r.Annotations = ids[i], s.stamped(i, ofLayer)
		r.RenameGroup = m.Annotations[namePrefixes] + " " + m.Annotations[nameSuffixes]
		if id, _ := originalID(m); shared[id] {
			r.PreviousName = id.Name
		}
		if s.Objects != nil && planner.HasReferences(m.ID) {
			r.Object = s.Objects(i)
		}
		out = append(out, r)
	}
	return out, ids
}

// stamped returns the annotations of a resource with its stamp, without those of an earlier
// run. The resources of one layer of ours that have no others share them in ofLayer, by rank.
func (s Stream) stamped(i int, ofLayer map[int]map[string]string) map[string]string {
	m := s.Metas[i]
	if len(m.Annotations) > 0 || !s.Ours[i] {
		return withStamp(m, s.Stamps[i])
	}
	rank := s.Placements[i].Layer.Rank
	if ofLayer[rank] == nil {
		ofLayer[rank] = withStamp(m, s.Stamps[i])
	}
	return ofLayer[rank]
}

func withStamp(m object.Meta, s stamp.Stamp) map[string]string {
	out := make(map[string]string, len(m.Annotations)+2)
	maps.Copy(out, m.Annotations)
	for _, key := range keys.Written(m) {
		delete(out, key)
	}
	maps.Copy(out, s.Annotations())
	return out
}
