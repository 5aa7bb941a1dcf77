package sortorder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// UnusedSelectorProblems returns a problem for each selector that placed no
// resource, with the nearest values among metas. Usually they are misspelt.
func (o *Order) UnusedSelectorProblems(placements []Placement, metas []object.Meta) Problems {
	var idle Problems
	for _, found := range o.UnusedSelectors(placements, metas) {
		s := o.selectors[found.Selector]
		selector := "layer " + s.layer
		if s.layer != defaultLayer(strings.Split(s.text, " and ")) {
			selector += " (" + s.text + ")"
		}
		idle.add(o.path(found.Selector), "order %s, %s matches nothing%s", o.Name, selector, found.Nearest)
	}
	return idle
}

// UnusedSelector is a selector that placed no resource.
type UnusedSelector struct {
	Selector int    // index into sortOrder
	Text     string // its conditions, "tier=data and kind=Job"
	Nearest  string // the nearest value among the resources, as the end of a message; "" if none
}

// UnusedSelectors returns the selectors that placed no resource, in the order of sortOrder.
func (o *Order) UnusedSelectors(placements []Placement, metas []object.Meta) []UnusedSelector {
	var idle []UnusedSelector
	for _, i := range o.UnusedIndices(placements) {
		idle = append(idle, UnusedSelector{Selector: i, Text: o.selectors[i].text, Nearest: o.selectors[i].nearest(metas)})
	}
	return idle
}

// nearest suggests existing values close to a selector's, as the end of a
// message; "" if nothing is similar.
func (s selector) nearest(metas []object.Meta) string {
	if slices.ContainsFunc(metas, s.conditions.match) {
		return ": earlier selectors match all of its resources"
	}
	for _, k := range s.conditions.keys() {
		want := s.conditions[k]
		met := func(m object.Meta) bool { return want.holds(k.of(m)) }
		if slices.ContainsFunc(metas, met) {
			continue
		}
		if k.canBeAbsent() {
			return k.nearestPair(want, metas)
		}
		return k.nearestValue(want, metas)
	}
	if len(s.conditions) > 1 {
		return ": no resource meets all of its conditions"
	}
	return ""
}

// counts returns the values of a key with the number of resources that have
// them.
func counts(metas []object.Meta, k key) map[string]int {
	values := map[string]int{}
	for _, m := range metas {
		if value, present := k.of(m); present {
			values[value]++
		}
	}
	return values
}

// nearestValue suggests an existing value of a key for one that no resource has. The fault may
// be in the resource: a kind that nothing defines, or a name that a later step changes.
func (k key) nearestValue(want valueSet, metas []object.Meta) string {
	values := counts(metas, k)
	for _, wanted := range want.listed {
		near := closest(wanted, slices.Sorted(maps.Keys(values)), len(wanted))
		switch {
		case near == "" || want.allBut:
		case k.aspect == kind && isKnownKind(wanted, metas) && !isKnownKind(near, metas):
			first := metas[slices.IndexFunc(metas, func(m object.Meta) bool { return m.Kind == near })]
			return fmt.Sprintf("; resource %s has kind %s, which is nearly %s", first.Name, near, wanted)
		case k.aspect == name && strings.HasSuffix(near, "-"+wanted):
			return fmt.Sprintf("; %s exists: does a namePrefix change the name? run the function after it, or select by label", near)
		case k.aspect == name && strings.HasPrefix(near, wanted+"-"):
			return fmt.Sprintf("; %s exists: does a nameSuffix or a hash change the name? run the function after it, or select by label", near)
		default:
			return fmt.Sprintf("; %s: did you mean %s?", countHaving(values[near], k.pair(near)), near)
		}
	}
	return ""
}

// isKnownKind reports whether a type order lists a kind, or a CRD among metas defines it, by the
// name that a CRD of this kind has.
func isKnownKind(kind string, metas []object.Meta) bool {
	lists := legacyKinds()
	return slices.Contains(slices.Concat(lists.first, lists.last, helmKinds()), kind) ||
		slices.ContainsFunc(metas, func(m object.Meta) bool {
			return m.IsCRD() && strings.HasPrefix(m.Name, object.GuessPlural(kind)+".")
		})
}

// nearestPair suggests, for an annotation or label that no resource has,
// another value, another key, or the other one of the two.
func (k key) nearestPair(want valueSet, metas []object.Meta) string {
	if len(counts(metas, k)) > 0 {
		return k.nearestValue(want, metas)
	}
	other := key{aspect: label, name: k.name}
	if k.aspect == label {
		other.aspect = annotation
	}
	n := 0
	for _, count := range counts(metas, other) {
		n += count
	}
	if n > 0 {
		field := map[aspect]string{label: "labelSelector", annotation: "matchAnnotations"}[other.aspect]
		return fmt.Sprintf("; %s: write it under %s", countHaving(n, "the "+other.String()), field)
	}
	names := map[string]int{}
	for _, m := range metas {
		all := m.Annotations
		if k.aspect == label {
			all = m.Labels
		}
		for name := range all {
			names[name]++
		}
	}
	near := closest(k.name, slices.Sorted(maps.Keys(names)), len(k.name))
	if near == "" {
		return ""
	}
	sibling := key{aspect: k.aspect, name: near}
	for _, value := range want.listed {
		if n := counts(metas, sibling)[value]; n > 0 {
			return fmt.Sprintf("; %s: did you mean %s?", countHaving(n, sibling.pair(value)), near)
		}
	}
	return fmt.Sprintf("; %s: did you mean %s?", countHaving(names[near], near), near)
}

// pair formats a key with a value as in selectors.
func (k key) pair(value string) string { return cmp.Or(k.name, k.aspect.String()) + "=" + value }

func countHaving(n int, what string) string {
	if n == 1 {
		return "1 resource has " + what
	}
	return fmt.Sprintf("%d resources have %s", n, what)
}
