package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A layer may contain resources that are not part of the plan: resources that a
// selection leaves out, and external resources of an application. Resources
// that wait for the layer wait for these in the cluster, as for external
// entries of depends-on.

// externalNeeds computes the resources outside the plan that steps wait for.
type externalNeeds struct {
	*planner
	inner   [][]int                 // per set: the sets directly within it
	planned []bool                  // per set: it, or a set within it, contains resources of the plan
	before  map[int][]ordering.Need // cache of beforeSet
}

func newExternalNeeds(b *planner) *externalNeeds {
	o := &externalNeeds{planner: b, inner: make([][]int, len(b.Sets)), planned: make([]bool, len(b.Sets)), before: map[int][]ordering.Need{}}
	for s, set := range b.Sets {
		if set.Within >= 0 {
			o.inner[set.Within] = append(o.inner[set.Within], s)
		}
	}
	for _, m := range b.Members {
		for s := m.Set; s >= 0; s = b.Sets[s].Within {
			o.planned[s] = true
		}
	}
	return o
}

// of returns the resources outside the plan that a resource waits for: named by
// its annotations, then in earlier layers.
func (o *externalNeeds) of(v int32) []ordering.Need {
	named := o.External[int(v)]
	if len(o.SetExternals) == 0 {
		return named
	}
	var held []ordering.Need
	for _, i := range o.graph.In.Of(v) {
		from := o.Kept[i].From
		if o.IsResource(from) || o.Kept[i].Strength == graph.DefaultPlace && o.IsResource(v) && o.NeededOutside[v] {
			continue
		}
		if s := o.SetOf(from); from == o.Entry(s) {
			held = append(held, o.beforeSet(s)...)
		} else {
			held = append(held, o.upTo(s)...)
		}
	}
	slices.SortStableFunc(held, func(a, b ordering.Need) int { return object.Compare(a.ID, b.ID) })
	return uniqueNeeds(append(slices.Clone(named), held...))
}

// beforeSet returns the resources outside the plan in the layers that a set, or
// a set around it, waits for.
func (o *externalNeeds) beforeSet(s int) []ordering.Need {
	if known, ok := o.before[s]; ok {
		return known
	}
	var out []ordering.Need
	for at := s; at >= 0; at = o.Sets[at].Within {
		for _, b := range o.Sets[at].After {
			out = append(out, o.upTo(b.Layer)...)
		}
	}
	o.before[s] = uniqueNeeds(out)
	return o.before[s]
}

// upTo returns the resources outside the plan for which the dependents of a set wait:
// its own and, unless it has planned resources, which wait for the others, the ones
// of sets before it.
func (o *externalNeeds) upTo(s int) []ordering.Need {
	out := o.holds(s)
	if !o.planned[s] {
		out = append(out, o.beforeSet(s)...)
	}
	return out
}

// holds returns the resources outside the plan in a set and the sets within it.
func (o *externalNeeds) holds(s int) []ordering.Need {
	out := slices.Clone(o.SetExternals[s])
	for _, inner := range o.inner[s] {
		out = append(out, o.holds(inner)...)
	}
	return out
}

// notesOfLeftOut lists resources outside the selection that steps wait for.
func (b *planner) notesOfLeftOut(steps []ordering.Step) []string {
	const examples = 3
	waitedFor := map[object.ID]bool{}
	for _, s := range steps {
		for _, need := range s.External {
			if b.ExcludedIDs[need.ID] {
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
func uniqueNeeds(needs []ordering.Need) []ordering.Need {
	at := map[object.ID]int{}
	var out []ordering.Need
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
