package sortorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// typeOrder decides between the resources of one layer, by their kinds.
type typeOrder struct {
	ranks map[string]int // of "Kind.group" ("Kind." for the core group) and, where the group does not matter, of "Kind"
	// tie compares two resources of one rank; nil keeps them as they came.
	tie func(a, b *sortKey) int
}

// sortKey is what a type order compares about one resource, prepared once.
type sortKey struct {
	rank     int
	kind     string
	core     bool   // the core API group
	gvk, nsn string // the joined strings of the legacy order
}

func (t typeOrder) key(m object.Meta) sortKey {
	rank, ok := t.ranks[m.Kind+"."+m.Group]
	if !ok {
		rank = t.ranks[m.Kind] // 0, the middle, for a kind that is not listed
	}
	return sortKey{rank: rank, kind: m.Kind, core: m.Group == "", gvk: legacyGVK(m), nsn: legacyName(m)}
}

func (t typeOrder) compare(a, b *sortKey) int {
	if a.rank != b.rank || t.tie == nil {
		return cmp.Compare(a.rank, b.rank)
	}
	return t.tie(a, b)
}

// kindLists are the kinds a type order puts first and last.
type kindLists struct{ first, last []string }

// compile resolves the name of a type order and the author's changes to it.
func (s typeOrderSpec) compile(path string, problems *Problems) typeOrder {
	lists, tie, ok := namedTypeOrder(s.Default)
	if !ok {
		at := path
		if len(s.First)+len(s.Last) > 0 {
			at = join(path, "default")
		}
		problems.add(at, "is %q: write legacy, helm or fifo%s", s.Default, didYouMean(s.Default, typeOrderNames()))
	}
	s.check(path, problems)
	named := slices.Concat(s.First, s.Last)
	return typeOrder{tie: tie, ranks: ranks(kindLists{
		first: slices.Concat(s.First, without(lists.first, named)),
		last:  slices.Concat(without(lists.last, named), s.Last),
	})}
}

func typeOrderNames() []string { return []string{"legacy", "helm", "fifo"} }

// namedTypeOrder is a type order by its name; legacy is the default.
func namedTypeOrder(name string) (kindLists, func(a, b *sortKey) int, bool) {
	switch name {
	case "", "legacy":
		return legacyKinds(), compareLegacy, true
	case "helm":
		return kindLists{first: helmKinds()}, compareKind, true
	case "fifo":
		return kindLists{}, nil, true
	}
	return kindLists{}, nil, false
}

// check refuses entries that are empty or stand twice.
func (s typeOrderSpec) check(path string, problems *Problems) {
	seen := map[string]string{}
	for _, list := range []struct {
		name  string
		kinds []string
	}{{"first", s.First}, {"last", s.Last}} {
		for i, kind := range list.kinds {
			at := fmt.Sprintf("%s.%s[%d]", path, list.name, i)
			switch before, twice := seen[kind]; {
			case strings.HasPrefix(kind, ".") || kind == "":
				problems.add(at, "is %q: write Kind, Kind.group, or Kind. for the core group", kind)
			case twice:
				problems.add(at, "names %s again after %s: a kind has one place", kind, before)
			}
			seen[kind] = at
		}
	}
}

// ranks numbers the lists: first below 0, last above, what is in neither 0.
func ranks(lists kindLists) map[string]int {
	out := make(map[string]int, len(lists.first)+len(lists.last))
	for i, kind := range lists.first {
		out[kind] = i - len(lists.first)
	}
	for i, kind := range lists.last {
		out[kind] = i + 1
	}
	return out
}
