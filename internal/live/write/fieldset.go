package write

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/fields"
)

// OwnedBy returns the fields in the matching entries of an object's managedFields.
func OwnedBy(live *unstructured.Unstructured, match func(metav1.ManagedFieldsEntry) bool) *fieldpath.Set {
	owned := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		if match(entry) {
			owned = owned.Union(applyset.FieldsOf(entry))
		}
	}
	return owned
}

// OwnedByAny returns the fields that managedFields names.
func OwnedByAny(live *unstructured.Unstructured) *fieldpath.Set {
	return OwnedBy(live, func(metav1.ManagedFieldsEntry) bool { return true })
}

// Owns reports whether a set has a field or something below it.
func Owns(set *fieldpath.Set, path fieldpath.Path) bool {
	if set.Has(path) {
		return true
	}
	for _, at := range path {
		set = set.WithPrefix(at)
	}
	return !set.Empty()
}

// Drop removes from a value the fields that are in remove and not in keep, or
// resets them to their value in fresh. It works in place except for lists;
// use the returned value.
func Drop(from, fresh any, remove, keep *fieldpath.Set) any {
	var places []fieldpath.PathElement
	remove.Members.Iterate(func(at fieldpath.PathElement) { places = append(places, at) })
	remove.Children.Iterate(func(at fieldpath.PathElement) { places = append(places, at) })
	for _, at := range places {
		keptBelow, some := keep.Children.Get(at)
		if !some {
			keptBelow = &fieldpath.Set{}
		}
		usual, has := fieldAt(fresh, at)
		below, deeper := remove.Children.Get(at)
		switch gone := remove.Members.Has(at) && !keep.Members.Has(at) && !some; {
		case gone && !has:
			from = withoutField(from, at)
		case gone && !deeper:
			changeField(from, at, func(any) any { return usual })
		case deeper:
			changeField(from, at, func(inner any) any { return Drop(inner, usual, below, keptBelow) })
		}
	}
	return from
}

// At returns the field or item of a value at a path.
func At(value any, path fieldpath.Path) (any, bool) {
	has := true
	for _, at := range path {
		if value, has = fieldAt(value, at); !has {
			return nil, false
		}
	}
	return value, true
}

// fieldAt returns one field or item of a value.
func fieldAt(in any, at fieldpath.PathElement) (any, bool) {
	switch in := in.(type) {
	case map[string]any:
		if at.FieldName != nil {
			field, has := in[*at.FieldName]
			return field, has
		}
	case []any:
		if i := slices.IndexFunc(in, func(item any) bool { return fields.IsItem(item, at) }); i >= 0 {
			return in[i], true
		}
	}
	return nil, false
}

// withoutField returns a value without one of its fields or items.
func withoutField(from any, at fieldpath.PathElement) any {
	switch from := from.(type) {
	case map[string]any:
		if at.FieldName != nil {
			delete(from, *at.FieldName)
		}
	case []any:
		return slices.DeleteFunc(from, func(item any) bool { return fields.IsItem(item, at) })
	}
	return from
}

// changeField replaces one field or item of a value, if it is there.
func changeField(in any, at fieldpath.PathElement, change func(any) any) {
	switch in := in.(type) {
	case map[string]any:
		if at.FieldName != nil && in[*at.FieldName] != nil {
			in[*at.FieldName] = change(in[*at.FieldName])
		}
	case []any:
		for i := range in {
			if fields.IsItem(in[i], at) {
				in[i] = change(in[i])
			}
		}
	}
}

// RemoveAt removes one field or item from a value. It works in place except for
// lists; use the returned value.
func RemoveAt(from any, path fieldpath.Path) any {
	if len(path) == 1 {
		return withoutField(from, path[0])
	}
	changeField(from, path[0], func(inner any) any { return RemoveAt(inner, path[1:]) })
	return from
}

// Overlay merges a manifest's value into a live one. Items of keyed lists replace
// items with the same keys, or are inserted.
func Overlay(live, sent any, owned *fieldpath.Set) any {
	switch value := sent.(type) {
	case map[string]any:
		into, ok := live.(map[string]any)
		if !ok {
			return sent
		}
		for name, v := range value {
			into[name] = Overlay(into[name], v, owned.WithPrefix(fieldpath.PathElement{FieldName: &name}))
		}
		return into
	case []any:
		items, ok := live.([]any)
		if !ok || !isKeyed(owned) {
			return sent
		}
		for i, wanted := range value {
			at := slices.IndexFunc(items, func(item any) bool {
				element, known := ElementOf(item, owned)
				return known && fields.MayBeItem(wanted, element)
			})
			if at < 0 {
				items = slices.Insert(items, min(i, len(items)), wanted)
				continue
			}
			element, _ := ElementOf(items[at], owned)
			items[at] = Overlay(items[at], wanted, owned.WithPrefix(element))
		}
		return items
	}
	return sent
}

// isKeyed reports whether fields belong to a keyed list of maps.
func isKeyed(owned *fieldpath.Set) (keyed bool) {
	look := func(at fieldpath.PathElement) { keyed = keyed || at.Key != nil }
	owned.Members.Iterate(look)
	owned.Children.Iterate(look)
	return keyed
}

// ElementOf returns the path element of a keyed list's item as managedFields
// has it.
func ElementOf(item any, owned *fieldpath.Set) (found fieldpath.PathElement, ok bool) {
	look := func(at fieldpath.PathElement) {
		if at.Key != nil && fields.IsItem(item, at) {
			found, ok = at, true
		}
	}
	owned.Members.Iterate(look)
	owned.Children.Iterate(look)
	return found, ok
}
