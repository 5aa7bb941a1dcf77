package fields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Leave removes from a manifest, in place, the values at the paths that are in foreign,
// the fields that others own. Of a map or an item that others own in part, the rest
// stays, and of an item its keys. Annotations and labels of apply sets are never
// removed: membership is not ignored.
func Leave(paths []Path, manifest map[string]any, foreign *fieldpath.Set) {
	leave(paths, false, manifest, foreign)
}

// leave removes others' fields from a value. whole reports whether all of it is ignored.
func leave(paths []Path, whole bool, from any, foreign *fieldpath.Set) {
	switch from := from.(type) {
	case map[string]any:
		for name, inner := range from {
			at := fieldpath.PathElement{FieldName: &name}
			below, all := BelowField(paths, name)
			switch owned, deeper := foreign.Children.Get(at); {
			case isOwn(name) || !whole && !all && len(below) == 0:
			case deeper:
				leave(below, whole || all, inner, owned)
			case foreign.Members.Has(at) && (whole || all):
				delete(from, name)
			}
		}
	case []any:
		for _, item := range from {
			below, all := BelowItem(paths, item)
			if at, owned := elementOf(item, foreign); owned != nil && (whole || all || len(below) > 0) {
				leave(below, whole || all, item, owned.Difference(keysOf(at)))
			}
		}
	}
}

// elementOf returns the element of a keyed list by which managedFields names an item, and
// the fields of the item; nil if it names none.
func elementOf(item any, fields *fieldpath.Set) (found fieldpath.PathElement, below *fieldpath.Set) {
	of, isMap := item.(map[string]any)
	if !isMap {
		return found, nil
	}
	fields.Children.Iterate(func(at fieldpath.PathElement) {
		if at.Key != nil && below == nil && !slices.ContainsFunc(*at.Key, func(key value.Field) bool {
			has, given := keyOf(of, key.Name)
			return given && !value.Equals(value.NewValueInterface(has), key.Value)
		}) {
			found = at
			below, _ = fields.Children.Get(at)
		}
	})
	return found, below
}

// keysOf returns the fields that are the keys of an item.
func keysOf(at fieldpath.PathElement) *fieldpath.Set {
	keys := &fieldpath.Set{}
	for _, key := range *at.Key {
		keys.Members.Insert(fieldpath.PathElement{FieldName: &key.Name})
	}
	return keys
}

// Covers reports whether one of the paths leads to a field, or to something that the field
// is in.
func Covers(paths []Path, field fieldpath.Path) bool {
	return slices.ContainsFunc(paths, func(p Path) bool { return p.covers(field) })
}

func (p Path) covers(field fieldpath.Path) bool {
	if len(p) > len(field) {
		return false
	}
	for i, s := range p {
		if !s.matchesElement(field[i]) {
			return false
		}
	}
	return true
}

func (s step) matchesElement(at fieldpath.PathElement) bool {
	switch {
	case at.FieldName != nil:
		return s.field == *at.FieldName
	case at.Key != nil:
		item := map[string]any{}
		for _, key := range *at.Key {
			item[key.Name] = key.Value.Unstructured()
		}
		return s.field == "" && s.matchesItem(item)
	}
	return s.field == "" && s.all
}
