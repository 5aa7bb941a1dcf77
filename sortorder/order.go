package sortorder

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Order is a SortOrder that was checked and can decide.
type Order struct {
	Name   string
	Layers []Layer // by rank

	OutputOrder OutputOrder

	Emit      []string // tools whose annotations are to be written too: argocd, kpt, kapp
	Overwrite bool     // emit replaces what the author wrote there
	Strict    bool     // a selector without a match is an error
	Reindex   bool     // renumber resources within their files

	Carry Pass   // one of the two passes of a kustomize build that carries the order
	Of    string // when unpacking, the order that packed

	Warnings   Problems // what could not be decided about the selectors
	ForApplier []string // fields of the file that only ordapply --order acts on

	selectors []selector
	layerOf   []int // selector to layer, as an index into Layers
	rest      int   // the layer of what no selector matches
	types     typeOrder
}

// OutputOrder says where in the output resources stand that no selector matches.
type OutputOrder string

// The output orders.
const (
	ByPlan       OutputOrder = "plan"       // before the first resource that needs them; else in the place of the rest
	ByPrecedence OutputOrder = "precedence" // in the place of the rest, as the KEP has it
)

// Placement is the place of one resource.
type Placement struct {
	Selector int // the entry of sortOrder that won; -1 when none matched and the rest is not listed
	Layer    Layer
}

// Place puts every resource into a layer: that of the first selector it
// matches.
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

// Ranks are the ranks of the layers that the placements name.
func Ranks(placements []Placement) []int {
	ranks := make([]int, len(placements))
	for i, p := range placements {
		ranks[i] = p.Layer.Rank
	}
	return ranks
}

// Sort gives the indices of metas in order: by rank, then by the type order.
// Equal resources stay as they came.
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

// Unused are the entries of sortOrder that won nothing, the rest's aside.
func (o *Order) Unused(placements []Placement) []int {
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

// Describe is an entry of sortOrder as people read it:
// "sortOrder[1] (tier=data)".
func (o *Order) Describe(selector int) string {
	if selector < 0 {
		return unmatchedLayer
	}
	return fmt.Sprintf("%s (%s)", selectorPath(selector), cmp.Or(o.selectors[selector].text, unmatchedLayer))
}

// Example is a resource that only this entry of sortOrder wins. Values that do
// not matter to any selector are left out; "other" is a value that no selector
// names. ok is false where none was found within the bound.
func (o *Order) Example(selector int) (m object.Meta, ok bool) {
	u := newUniverse(o.selectors)
	all := make([]rival, len(o.selectors))
	for i, s := range o.selectors {
		all[i] = rival{number: i, choices: u.choices(s)}
	}
	f := &search{u: u, steps: maxSteps}
	left, result := f.witness(u.within(all[selector].choices), o.rivalsOf(selector, all))
	if result != found {
		return m, false
	}
	return u.meta(f.example(left, nil)), true
}

func selectorPath(i int) string { return fmt.Sprintf("sortOrder[%d]", i) }
