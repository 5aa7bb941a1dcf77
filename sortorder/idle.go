package sortorder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// Idle reports the selectors that won nothing, with the fields they stand in and
// what of the resources is nearest. Usually they are misspelt.
func (o *Order) Idle(placements []Placement, metas []object.Meta) Problems {
	var idle Problems
	for _, found := range o.IdleSelectors(placements, metas) {
		s := o.selectors[found.Selector]
		selector := "layer " + s.layer
		if s.layer != defaultLayer(strings.Split(s.text, " and ")) {
			selector += " (" + s.text + ")"
		}
		idle.add(selectorPath(found.Selector), "order %s, %s matches nothing%s", o.Name, selector, found.Nearest)
	}
	return idle
}

// IdleSelector is a selector that won nothing.
type IdleSelector struct {
	Selector int    // index into sortOrder
	Text     string // its conditions
	Nearest  string // what of the resources is nearest, as the end of a message; "" for none
}

// IdleSelectors are the selectors that won nothing, in their order.
func (o *Order) IdleSelectors(placements []Placement, metas []object.Meta) []IdleSelector {
	var idle []IdleSelector
	for _, i := range o.Unused(placements) {
		idle = append(idle, IdleSelector{Selector: i, Text: o.selectors[i].text, Nearest: o.selectors[i].nearest(metas)})
	}
	return idle
}

// nearest is what the resources have in place of what a selector asks for, as the
// end of a message; "" where nothing is near.
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
		return k.nearestValue(want, counts(metas, k))
	}
	if len(s.conditions) > 1 {
		return ": no resource meets all of its conditions"
	}
	return ""
}

// counts are the values that resources have of a key, and on how many.
func counts(metas []object.Meta, k key) map[string]int {
	values := map[string]int{}
	for _, m := range metas {
		if value, present := k.of(m); present {
			values[value]++
		}
	}
	return values
}

// nearestValue suggests one of the values that a key has, for one that it has not.
func (k key) nearestValue(want valueSet, values map[string]int) string {
	for _, wanted := range want.listed {
		if near := closest(wanted, values); near != "" && !want.allBut {
			return fmt.Sprintf("; %s: did you mean %s?", have(values[near], k.pair(near)), near)
		}
	}
	return ""
}

// nearestPair suggests, for an annotation or a label that no resource has so,
// another value, another key, or the other of the two.
func (k key) nearestPair(want valueSet, metas []object.Meta) string {
	values := counts(metas, k)
	if len(values) > 0 {
		return k.nearestValue(want, values)
	}
	other := key{aspect: label, name: k.name}
	if k.aspect == label {
		other.aspect = annotation
	}
	if n := total(counts(metas, other)); n > 0 {
		field := map[aspect]string{label: "labelSelector", annotation: "matchAnnotations"}[other.aspect]
		return fmt.Sprintf("; %s: write it under %s", have(n, "the "+other.String()), field)
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
	near := closest(k.name, names)
	if near == "" {
		return ""
	}
	beside := key{aspect: k.aspect, name: near}
	for _, value := range want.listed {
		if n := counts(metas, beside)[value]; n > 0 {
			return fmt.Sprintf("; %s: did you mean %s?", have(n, beside.pair(value)), near)
		}
	}
	return fmt.Sprintf("; %s: did you mean %s?", have(names[near], near), near)
}

// pair is a key with a value as selectors are written.
func (k key) pair(value string) string { return cmp.Or(k.name, k.aspect.String()) + "=" + value }

func have(n int, what string) string {
	if n == 1 {
		return "1 resource has " + what
	}
	return fmt.Sprintf("%d resources have %s", n, what)
}

func total(values map[string]int) int {
	n := 0
	for _, count := range values {
		n += count
	}
	return n
}

// closest is the word that is most like another, "" where none is; of equally
// close ones the first in the alphabet.
func closest(word string, among map[string]int) string {
	best, distance := "", min(len(word), len(word)/3+2)
	for _, candidate := range slices.Sorted(maps.Keys(among)) {
		if d := editDistance(strings.ToLower(word), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}
