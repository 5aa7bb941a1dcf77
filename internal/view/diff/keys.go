package diff

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plain"
)

// mergeKeys returns the candidate keys of list items, in order of preference: the keys of
// native kinds (x-kubernetes-list-map-keys).
func mergeKeys() [][]string {
	return [][]string{
		{"name"}, {"key"}, {"type"}, {"ip"}, {"uid"}, {"mountPath"}, {"devicePath"}, {"topologyKey", "whenUnsatisfiable"},
		{"containerPort", "protocol"}, {"port", "protocol"}, {"containerPort"}, {"port"}, {"path"}, {"host"},
	}
}

// keysOf returns the fields that identify every item of both lists uniquely, or
// nil. Empty lists match any.
func keysOf(before, after []any) []string {
	for _, keys := range mergeKeys() {
		if distinct(before, keys) && distinct(after, keys) {
			return keys
		}
	}
	return nil
}

func distinct(list []any, keys []string) bool {
	seen := map[string]bool{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		for _, key := range keys {
			switch fields[key].(type) {
			case string, int64, float64, bool:
			default:
				return false
			}
		}
		name := nameOf(fields, keys)
		if seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// namedList is a list indexed by the keys of its items.
type namedList struct {
	order []string
	items map[string]any
}

func named(list []any, keys []string) namedList {
	out := namedList{items: make(map[string]any, len(list))}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name := nameOf(fields, keys)
		out.order = append(out.order, name)
		out.items[name] = item
	}
	return out
}

// nameOf returns an item's key for a path: "name=web", "port=80,protocol=TCP".
func nameOf(item map[string]any, keys []string) string {
	return plain.ItemKeys(keys, func(key string) any { return item[key] })
}

// inSequence reports whether the common items of both lists have the same
// order.
func inSequence(before, after namedList) bool {
	both := func(list, other namedList) []string {
		return slices.DeleteFunc(slices.Clone(list.order), func(name string) bool { _, ok := other.items[name]; return !ok })
	}
	return slices.Equal(both(before, after), both(after, before))
}

func anyOf(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

func ofMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { fields, ok := item.(map[string]any); return !ok || fields == nil })
}
