package ordering

import (
	"slices"

	"github.com/ordapply/ordapply/object"
)

// A layer may hold what is no part of the plan: resources that a selection leaves
// out, and what an application names as external. Each resource that waits for the
// layer waits for these in the cluster, as for what depends-on names as external.

// The rules of what is waited for so.
const (
	// RuleLeftOut is about a resource of the stream that a selection leaves out.
	RuleLeftOut = "left-out"
	// RuleExternal is about a resource that an application names as external.
	RuleExternal = "external"
)

func leftOut(s set) Reason {
	return Reason{Rule: RuleLeftOut, Detail: s.title() + " comes first, and the selection leaves this part of it out"}
}

// holdOutside notes that a set holds a resource that is no part of the plan.
func (d *declarations) holdOutside(set int, id object.ID, why Reason) {
	d.outside[set] = append(d.outside[set], Need{ID: id, Gate: d.sets[set].gate, Why: why, Hard: true})
}

// outsiders finds what resources wait for outside the plan.
type outsiders struct {
	*builder
	inner   [][]int        // by set: those right within it
	planned []bool         // by set: it or one within it holds resources of the plan
	before  map[int][]Need // by set: what comes before it, as far as it was asked for
}

func newOutsiders(b *builder) *outsiders {
	o := &outsiders{builder: b, inner: make([][]int, len(b.sets)), planned: make([]bool, len(b.sets)), before: map[int][]Need{}}
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

// of is what a resource waits for: what it names itself, then what the layers hold
// that come before its own.
func (o *outsiders) of(v int32) []Need {
	named := o.external[int(v)]
	if len(o.outside) == 0 {
		return named
	}
	var held []Need
	for _, i := range o.graph.in.of(v) {
		if from := o.edges[i].from; !o.isResource(from) && from == o.entry(o.setOf(from)) {
			held = append(held, o.beforeSet(o.setOf(from))...)
		}
	}
	slices.SortStableFunc(held, func(a, b Need) int { return object.Compare(a.ID, b.ID) })
	return onceEach(append(slices.Clone(named), held...))
}

// beforeSet is what is held by the layers that a set and those around it wait for.
func (o *outsiders) beforeSet(s int) []Need {
	if known, ok := o.before[s]; ok {
		return known
	}
	var out []Need
	for at := s; at >= 0; at = o.sets[at].within {
		for _, b := range o.sets[at].after {
			out = append(out, o.holds(b.Layer)...)
			if !o.planned[b.Layer] { // else its resources wait for what comes before it
				out = append(out, o.beforeSet(b.Layer)...)
			}
		}
	}
	o.before[s] = onceEach(out)
	return o.before[s]
}

// holds is what a set and those within it hold outside the plan.
func (o *outsiders) holds(s int) []Need {
	out := slices.Clone(o.outside[s])
	for _, inner := range o.inner[s] {
		out = append(out, o.holds(inner)...)
	}
	return out
}

// onceEach keeps the first need of each resource. Where one of them waits until it is
// ready, so does that.
func onceEach(needs []Need) []Need {
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
