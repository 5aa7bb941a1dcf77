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
	words  []int      // offset of each key's words in a space
	size   int        // number of words in a space
}

// space is a set of resources: for each key a bit set of possible values.
type space []uint64

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
		values := sortedSet(named[k])
		u.values = append(u.values, values)
		u.words = append(u.words, u.size)
		u.size += (len(values)+2)/wordBits + 1
	}
	return u
}

// all returns the space of all resources.
func (u *universe) all() space {
	s := make(space, u.size)
	for i, k := range u.keys {
		u.fill(s, i, valueSet{allBut: true, absent: k.canBeAbsent()})
	}
	return s
}

// fill sets the bits that a condition on key i accepts.
func (u *universe) fill(s space, i int, want valueSet) {
	bits := u.part(s, i)
	set := func(n int) { bits[n/wordBits] |= 1 << (n % wordBits) }
	for n, value := range u.values[i] {
		if want.holds(value, true) {
			set(n)
		}
	}
	if want.allBut {
		set(len(u.values[i]))
	}
	if want.absent {
		set(len(u.values[i]) + 1)
	}
}

// part returns the words of key i.
func (u *universe) part(s space, i int) []uint64 {
	end := u.size
	if i+1 < len(u.words) {
		end = u.words[i+1]
	}
	return s[u.words[i]:end]
}

// choice is a condition of a selector on a key of the universe.
type choice struct {
	key  int
	want []uint64
}

// choices returns a selector's conditions as bit sets, in a fixed order.
func (u *universe) choices(s selector) []choice {
	out := make([]choice, 0, len(s.conditions))
	for _, k := range s.conditions.keys() {
		i, _ := slices.BinarySearchFunc(u.keys, k, compareKeys)
		full := make(space, u.size)
		u.fill(full, i, s.conditions[k])
		out = append(out, choice{key: i, want: u.part(full, i)})
	}
	return out
}

// within returns the space that a selector matches.
func (u *universe) within(choices []choice) space {
	s := u.all()
	for _, c := range choices {
		keep(u.part(s, c.key), c.want)
	}
	return s
}

func keep(bits, want []uint64) {
	for i := range bits {
		bits[i] &= want[i]
	}
}

// drop clears the unwanted bits.
func drop(bits, unwanted []uint64) {
	for i := range bits {
		bits[i] &^= unwanted[i]
	}
}

func disjoint(a, b []uint64) bool {
	for i := range a {
		if a[i]&b[i] != 0 {
			return false
		}
	}
	return true
}

func inside(a, b []uint64) bool {
	for i := range a {
		if a[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

// meta returns the metadata of a resource of a space: without a key where that is
// possible, else with a value that no selector names, else with one of theirs.
func (u *universe) meta(of space) object.Meta {
	m := object.Meta{Labels: map[string]string{}, Annotations: map[string]string{}}
	for i, k := range u.keys {
		n := lastBit(u.part(of, i))
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

func lastBit(words []uint64) int {
	for i, word := range slices.Backward(words) {
		if word != 0 {
			return i*wordBits + bits.Len64(word) - 1
		}
	}
	return 0
}
