package sortorder

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// universe is the set of all resources that the selectors can distinguish: each
// key has one of the values they name, any other value, or, for annotations and
// labels, is absent. Keys are independent.
type universe struct {
	keys   []key
	values [][]string // per key, sorted; followed by "any other" and "absent"
}

// space is a set of resources: for each key the set of possible values.
type space []bitSet

// bitSet is a set of values, by their positions. It is never changed.
type bitSet []uint64

const wordBits = 64

func newUniverse(selectors []selector) *universe {
	named := map[key][]string{}
	for _, s := range selectors {
		for k, want := range s.conditions {
			named[k] = append(named[k], want.listed...)
		}
	}
	u := &universe{keys: slices.SortedFunc(maps.Keys(named), compareKeys)}
	for _, k := range u.keys {
		u.values = append(u.values, sortedSet(named[k]))
	}
	return u
}

// accepted returns the values of key i that a condition accepts.
func (u *universe) accepted(i int, want valueSet) bitSet {
	last := len(u.values[i]) + 1
	out := make(bitSet, last/wordBits+1)
	for n := range last + 1 {
		if n < last-1 && want.holds(u.values[i][n], true) || n == last-1 && want.allBut || n == last && want.absent {
			out[n/wordBits] |= 1 << (n % wordBits)
		}
	}
	return out
}

// choice is a condition of a selector on a key of the universe.
type choice struct {
	key  int
	want bitSet
}

// choices returns a selector's conditions as bit sets, in a fixed order.
func (u *universe) choices(s selector) []choice {
	out := make([]choice, 0, len(s.conditions))
	for _, k := range s.conditions.keys() {
		i, _ := slices.BinarySearchFunc(u.keys, k, compareKeys)
		out = append(out, choice{key: i, want: u.accepted(i, s.conditions[k])})
	}
	return out
}

// within returns the space that a selector matches.
func (u *universe) within(choices []choice) space {
	s := make(space, len(u.keys))
	for i, k := range u.keys {
		s[i] = u.accepted(i, valueSet{allBut: true, absent: k.canBeAbsent()})
	}
	for _, c := range choices {
		s.keep(c)
	}
	return s
}

// keep narrows the space to the resources that meet a condition.
func (s space) keep(c choice) {
	s[c.key] = slices.Clone(s[c.key])
	for i, word := range c.want {
		s[c.key][i] &= word
	}
}

// drop narrows the space to the resources that fail a condition.
func (s space) drop(c choice) {
	s[c.key] = slices.Clone(s[c.key])
	for i, word := range c.want {
		s[c.key][i] &^= word
	}
}

// reach reports whether a resource of the space meets a condition, and whether one fails it.
func (s space) reach(c choice) (met, failed bool) {
	for i, word := range s[c.key] {
		met, failed = met || word&c.want[i] != 0, failed || word&^c.want[i] != 0
	}
	return met, failed
}

// meta returns the metadata of a resource of a space: without a key where that is
// possible, else with a value that no selector names, else with one of theirs.
func (u *universe) meta(of space) object.Meta {
	m := object.Meta{Labels: map[string]string{}, Annotations: map[string]string{}}
	for i, k := range u.keys {
		n := of[i].last()
		if n > len(u.values[i]) {
			continue
		}
		value := "other"
		for slices.Contains(u.values[i], value) {
			value += "-one"
		}
		if n < len(u.values[i]) {
			value = u.values[i][n]
		}
		k.set(&m, value)
	}
	return m
}

func (b bitSet) last() int {
	for i, word := range slices.Backward(b) {
		if word != 0 {
			return i*wordBits + bits.Len64(word) - 1
		}
	}
	return 0
}
