package ordering

import (
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/graph"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// A layer may contain resources that are not part of the plan: resources that a
// selection leaves out, and external resources of an application. Resources
// that wait for the layer wait for these in the cluster, as for external
// entries of depends-on.

func excludedReason(s set) graph.Reason {
	return graph.Reason{Rule: graph.RuleExcluded, Detail: s.title() + " comes first, and the selection excludes this part of it"}
}

// addSetExternal records that a set contains a resource that is not part of the
// plan.
func (d *declarations) addSetExternal(set int, id object.ID, why graph.Reason) {
	d.setExternals[set] = append(d.setExternals[set], Need{ID: id, Gate: d.sets[set].gate, Why: why, Hard: true})
}

// externalNeeds computes the resources outside the plan that steps wait for.
type externalNeeds struct {
	*builder
	inner   [][]int        // per set: the sets directly within it
	planned []bool         // per set: it, or a set within it, contains resources of the plan
	before  map[int][]Need // cache of beforeSet
}

func newExternalNeeds(b *builder) *externalNeeds {
	o := &externalNeeds{builder: b, inner: make([][]int, len(b.sets)), planned: make([]bool, len(b.sets)), before: map[int][]Need{}}
	for s, set := range b.sets {
		if set.within >= 0 {
			o.inner[set.within] = append(o.inner[set.within], s)
		}
	}
	for _, m := range b.members {
		for s := m.set; s >= 0; s = b.sets[s].within {
			o.planned[s] = true
		}
	}
	return o
}

// of returns the resources outside the plan that a resource waits for: those
// its annotations name, then those in earlier layers.
func (o *externalNeeds) of(v int32) []Need {
	named := o.external[int(v)]
	if len(o.setExternals) == 0 {
		return named
	}
	var held []Need
	for _, i := range o.graph.In.Of(v) {
		from := o.edges[i].From
		if o.isResource(from) || o.edges[i].Strength == graph.DefaultPlace && o.isResource(v) && o.neededOutside[v] {
			continue
		}
		if s := o.setOf(from); from == o.entry(s) {
			held = append(held, o.beforeSet(s)...)
		} else {
			held = append(held, o.upTo(s)...)
		}
	}
	slices.SortStableFunc(held, func(a, b Need) int { return object.Compare(a.ID, b.ID) })
	return uniqueNeeds(append(slices.Clone(named), held...))
}

// beforeSet returns the resources outside the plan in the layers that a set, or
// a set around it, waits for.
func (o *externalNeeds) beforeSet(s int) []Need {
	if known, ok := o.before[s]; ok {
		return known
	}
	var out []Need
	for at := s; at >= 0; at = o.sets[at].within {
		for _, b := range o.sets[at].after {
			out = append(out, o.upTo(b.Layer)...)
		}
	}
	o.before[s] = uniqueNeeds(out)
	return o.before[s]
}

// upTo returns the resources outside the plan for which the dependents of a set wait:
// those in it and, unless it has planned resources, which wait for these themselves,
// those of the sets before it.
func (o *externalNeeds) upTo(s int) []Need {
	out := o.holds(s)
	if !o.planned[s] {
		out = append(out, o.beforeSet(s)...)
	}
	return out
}

// holds returns the resources outside the plan in a set and the sets within it.
func (o *externalNeeds) holds(s int) []Need {
	out := slices.Clone(o.setExternals[s])
	for _, inner := range o.inner[s] {
		out = append(out, o.holds(inner)...)
	}
	return out
}

// notesOfLeftOut lists what a selection leaves out and steps wait for in the cluster.
func (d *declarations) notesOfLeftOut(steps []Step) []string {
	const examples = 3
	waitedFor := map[object.ID]bool{}
	for _, s := range steps {
		for _, need := range s.External {
			if d.excludedIDs[need.ID] {
				waitedFor[need.ID] = true
			}
		}
	}
	if len(waitedFor) == 0 {
		return nil
	}
	names := plain.Sample(slices.SortedFunc(maps.Keys(waitedFor), object.Compare), examples, "%d more", object.ID.String)
	return []string{"selected resources wait in the cluster for resources that the selection excludes: " + strings.Join(names, ", ")}
}

// uniqueNeeds removes duplicate resources. The gate is Ready if any of the
// duplicates has it.
func uniqueNeeds(needs []Need) []Need {
	at := map[object.ID]int{}
	var out []Need
	for _, need := range needs {
		if i, ok := at[need.ID]; ok {
			out[i].Gate = min(out[i].Gate, need.Gate)
			continue
		}
		at[need.ID] = len(out)
		out = append(out, need)
	}
	return out
}
