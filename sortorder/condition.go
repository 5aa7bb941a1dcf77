package sortorder

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// aspect is a property of a resource that a selector can test.
type aspect int

const (
	annotation aspect = iota
	label
	group
	kind
	namespace
	name
)

func (a aspect) String() string {
	return [...]string{"annotation", "label", "group", "kind", "namespace", "name"}[a]
}

// key is an aspect; for annotations and labels with their key.
type key struct {
	aspect aspect
	name   string // for annotations and labels only
}

func (k key) String() string {
	if k.canBeAbsent() {
		return k.aspect.String() + " " + k.name
	}
	return k.aspect.String()
}

// canBeAbsent reports whether a resource may have no value for the key.
func (k key) canBeAbsent() bool { return k.aspect == annotation || k.aspect == label }

// of returns the key's value on a resource.
func (k key) of(m object.Meta) (value string, present bool) {
	switch k.aspect {
	case annotation:
		value, present = m.Annotations[k.name]
		return value, present
	case label:
		value, present = m.Labels[k.name]
		return value, present
	case group:
		return m.Group, true
	case kind:
		return m.Kind, true
	case namespace:
		return m.Namespace, true
	}
	return m.Name, true
}

// set sets the key's value on a resource. It writes to its maps.
func (k key) set(m *object.Meta, value string) {
	switch k.aspect {
	case annotation:
		m.Annotations[k.name] = value
	case label:
		m.Labels[k.name] = value
	case group:
		m.Group = value
	case kind:
		m.Kind = value
	case namespace:
		m.Namespace = value
	case name:
		m.Name = value
	}
}

// valueSet is a set of accepted values of a key: the listed ones, or all except
// these; and whether the key may be absent.
type valueSet struct {
	allBut bool
	listed []string // sorted, without duplicates
	absent bool
}

func only(values ...string) valueSet { return valueSet{listed: sortedSet(values)} }

func (s valueSet) holds(value string, present bool) bool {
	if !present {
		return s.absent
	}
	_, found := slices.BinarySearch(s.listed, value)
	return found != s.allBut
}

func (s valueSet) empty() bool { return !s.allBut && len(s.listed) == 0 && !s.absent }

// and returns the intersection.
func (s valueSet) and(t valueSet) valueSet {
	out := valueSet{absent: s.absent && t.absent, allBut: s.allBut && t.allBut}
	switch {
	case out.allBut:
		out.listed = sortedSet(slices.Concat(s.listed, t.listed))
	case s.allBut:
		out.listed = without(t.listed, s.listed)
	case t.allBut:
		out.listed = without(s.listed, t.listed)
	default:
		out.listed = slices.DeleteFunc(slices.Clone(s.listed), func(v string) bool { return !slices.Contains(t.listed, v) })
	}
	return out
}

func sortedSet(values []string) []string {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}

// without returns the values not in drop.
func without(values, drop []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(drop, v) })
}

// conditions are the conditions of a selector; a resource matches if all of
// them hold.
type conditions map[key]valueSet

// require adds a condition. Two conditions on a key are intersected.
func (c conditions) require(k key, want valueSet) {
	if have, ok := c[k]; ok {
		want = have.and(want)
	}
	c[k] = want
}

// keys returns the keys with a condition, sorted.
func (c conditions) keys() []key {
	return slices.SortedFunc(maps.Keys(c), compareKeys)
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.aspect, b.aspect), cmp.Compare(a.name, b.name))
}

func (c conditions) match(m object.Meta) bool {
	for k, want := range c {
		if !want.holds(k.of(m)) {
			return false
		}
	}
	return true
}
