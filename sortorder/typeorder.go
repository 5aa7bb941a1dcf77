package sortorder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// typeOrder orders the resources of one layer by kind.
type typeOrder struct {
	ranks map[string]int // by "Kind.group" ("Kind." for the core group) or, if the group does not matter, "Kind"
	// tie compares two resources of one rank; nil keeps their order.
	tie func(a, b *sortKey) int
}

// sortKey holds the values of a resource that a type order compares.
type sortKey struct {
	rank     int
	kind     string
	core     bool   // in the core API group
	gvk, nsn string // the joined strings of the legacy order
}

func (t typeOrder) key(m object.Meta) sortKey {
	rank, ok := t.ranks[m.Kind+"."+m.Group]
	if !ok {
		rank = t.ranks[m.Kind] // 0, the middle, for unlisted kinds
	}
	return sortKey{rank: rank, kind: m.Kind, core: m.Group == "", gvk: legacyGVK(m), nsn: legacyName(m)}
}

func (t typeOrder) compare(a, b *sortKey) int {
	if a.rank != b.rank || t.tie == nil {
		return cmp.Compare(a.rank, b.rank)
	}
	return t.tie(a, b)
}

// CompareTypes returns the comparison of the default type order, kustomize's: by kind,
// then by namespace and name.
func CompareTypes() func(a, b object.ID) int {
	legacy := typeOrder{ranks: ranks(legacyKinds()), tie: compareLegacy}
	return func(a, b object.ID) int {
		x, y := legacy.key(object.Meta{ID: a}), legacy.key(object.Meta{ID: b})
		return legacy.compare(&x, &y)
	}
}

// kindLists are the kinds that a type order puts first and last.
type kindLists struct{ first, last []string }

// compile returns the type order for a name and the author's changes.
func (s typeOrderSpec) compile(path string, problems *Problems) typeOrder {
	lists, tie, ok := namedTypeOrder(s.Default)
	if !ok {
		at := path
		if len(s.First)+len(s.Last) > 0 {
			at = plain.Field(path, "default")
		}
		problems.add(at, "is %q: write legacy, helm or fifo%s", s.Default, nearest.DidYouMean(s.Default, typeOrderNames()))
	}
	s.check(path, problems)
	named := slices.Concat(s.First, s.Last)
	return typeOrder{tie: tie, ranks: ranks(kindLists{
		first: slices.Concat(s.First, without(lists.first, named)),
		last:  slices.Concat(without(lists.last, named), s.Last),
	})}
}

func typeOrderNames() []string { return []string{"legacy", "helm", "fifo"} }

// namedTypeOrder returns a type order by name; legacy is the default.
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

// check reports empty and duplicate entries.
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
				problems.add(at, "repeats %s from %s: list each kind once", kind, before)
			}
			seen[kind] = at
		}
	}
}

// ranks numbers the lists: first below 0, last above 0.
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
