package fields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ordapply/ordapply/internal/plain"
)

// StartsWith reports whether a path of managedFields begins with fields of these names.
func StartsWith(path fieldpath.Path, names ...string) bool {
	if len(path) < len(names) {
		return false
	}
	for i, name := range names {
		if field := path[i].FieldName; field == nil || *field != name {
			return false
		}
	}
	return true
}

// IsItem reports whether an item of a list is the one that a path element names, by its
// keys or its value.
func IsItem(item any, at fieldpath.PathElement) bool {
	if at.Value != nil {
		return value.Equals(value.NewValueInterface(item), *at.Value)
	}
	of, isMap := item.(map[string]any)
	return isMap && at.Key != nil && !slices.ContainsFunc(*at.Key, func(key value.Field) bool {
		return !value.Equals(value.NewValueInterface(of[key.Name]), key.Value)
	})
}

// MayBeItem is IsItem for an item of a manifest, which may leave out keys that have a
// default, but not all of them.
func MayBeItem(item any, at fieldpath.PathElement) bool {
	of, isMap := item.(map[string]any)
	if at.Key == nil || !isMap {
		return IsItem(item, at)
	}
	given := false
	for _, key := range *at.Key {
		has, isGiven := of[key.Name]
		if isGiven && !value.Equals(value.NewValueInterface(has), key.Value) {
			return false
		}
		given = given || isGiven
	}
	return given
}

// Text returns a path of managedFields as a user writes it: spec.containers[name=app].image.
func Text(path fieldpath.Path) string {
	var out string
	for _, at := range path {
		switch {
		case at.FieldName != nil:
			out = plain.Field(out, *at.FieldName)
		case at.Key != nil:
			values := map[string]any{}
			var keys []string
			for _, key := range *at.Key {
				keys, values[key.Name] = append(keys, key.Name), key.Value.Unstructured()
			}
			out += "[" + plain.ItemKeys(keys, func(key string) any { return values[key] }) + "]"
		case at.Index != nil:
			out = plain.Item(out, *at.Index)
		default:
			out += at.String() // the value of an item, [=a]
		}
	}
	return out
}
