package sortorder

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Order is a validated SortOrder, as Parse returns it; the zero value is not one.
type Order struct {
	Name   string  // metadata.name, which the stamps carry
	Layers []Layer // by rank, with the unmatched resources' layer

	OutputOrder OutputOrder // default ByPlan

	Emit      []string // tools whose annotations are written too, sorted: argocd, kapp, kpt
	Overwrite bool     // emit replaces existing annotations of the author
	Strict    bool     // a selector without a match is an error instead of a warning
	Reindex   bool     // renumber resources within their files, for kpt

	Carry Pass   // the pass of a kustomize build that carries the order
	Of    string // when unpacking, the order that packed

	Warnings   Problems // about an incomplete header, and selectors that could not be checked
	ForApplier []string // fields of the file that only ordapply --order uses: stacks, timeouts, health

	rules
}

// rules place and sort resources.
type rules struct {
	selectors []selector
	paths     []string // of the selectors; nil if they are sortOrder's
	layerOf   []int    // selector to layer, as an index into Layers
	rest      int      // the layer for unmatched resources
	types     typeOrder
}

// OutputOrder selects where the text has unmatched resources; the stamps do not depend on it.
type OutputOrder string

// Values of OutputOrder.
const (
	ByPlan       OutputOrder = "plan"       // the default: before their first dependent; others in the place of the rest
	ByPrecedence OutputOrder = "precedence" // in the place of the rest, as in the KEP
)

// Placement is the layer of one resource.
type Placement struct {
	Selector int   // index of the entry of sortOrder; for the rest, of unmatched: true, or -1 without one
	Layer    Layer // one of Order.Layers
}

// Place returns the placement of every resource, by its index: the layer of the
// first selector that matches it, else the layer of the rest.
func (o *Order) Place(metas []object.Meta) []Placement {
	out := make([]Placement, len(metas))
	for i, m := range metas {
		out[i] = o.place(m)
	}
	return out
}

func (o *Order) place(m object.Meta) Placement {
	rest := -1
	for i, s := range o.selectors {
		switch {
		case s.unmatched:
			rest = i
		case s.conditions.match(m):
			return Placement{Selector: i, Layer: o.Layers[o.layerOf[i]]}
		}
	}
	return Placement{Selector: rest, Layer: o.Layers[o.rest]}
}

// Ranks returns the rank of each placement's layer, for Sort.
func Ranks(placements []Placement) []int {
	ranks := make([]int, len(placements))
	for i, p := range placements {
		ranks[i] = p.Layer.Rank
	}
	return ranks
}

// Sort returns the indices of metas in order: by rank, then by the type order.
// ranks has one entry for each resource. Sort is stable.
func (o *Order) Sort(metas []object.Meta, ranks []int) []int {
	keys := make([]sortKey, len(metas))
	indices := make([]int, len(metas))
	for i, m := range metas {
		keys[i], indices[i] = o.types.key(m), i
	}
	slices.SortStableFunc(indices, func(a, b int) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), o.types.compare(&keys[a], &keys[b]))
	})
	return indices
}

// UnusedIndices returns the indices of the entries of sortOrder that placed no
// resource, in ascending order, without the entry of the rest.
func (o *Order) UnusedIndices(placements []Placement) []int {
	won := make([]bool, len(o.selectors))
	for _, p := range placements {
		if p.Selector >= 0 {
			won[p.Selector] = true
		}
	}
	var out []int
	for i, s := range o.selectors {
		if !won[i] && !s.unmatched {
			out = append(out, i)
		}
	}
	return out
}

// Describe returns the display name of an entry of sortOrder, by its index:
// "sortOrder[1] (tier=data)"; "unmatched" for a negative index.
func (o *Order) Describe(selector int) string {
	if selector < 0 {
		return unmatchedLayer
	}
	return fmt.Sprintf("%s (%s)", o.path(selector), cmp.Or(o.selectors[selector].text, unmatchedLayer))
}

// path returns the field of a selector.
func (r rules) path(i int) string {
	if r.paths != nil {
		return r.paths[i]
	}
	return fmt.Sprintf("sortOrder[%d]", i)
}
