// Package fields reads the annotation ordapply.dev/ignore-fields: paths of fields
// that a manifest sets when its object is created, and leaves to other field managers
// once they own them.
//
//	paths, err := fields.Parse("spec.replicas, spec.template.spec.containers[name=app].image")
//	fields.Remove(paths, manifest.Object) // the manifest without them
package fields

import (
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Annotation holds the paths, separated by commas or white space.
const Annotation = "ordapply.dev/ignore-fields"

// Of returns the paths in the annotation of a decoded object; none if the value is invalid,
// which Check reports.
func Of(obj map[string]any) []Path {
	value, has := object.Annotation(obj, Annotation)
	if !has {
		return nil
	}
	paths, err := Parse(value)
	if err != nil {
		return nil
	}
	return paths
}

// BelowField returns the rest of the paths below a field of a map. whole reports
// whether a path ends there, so that everything below is ignored.
func BelowField(paths []Path, name string) (below []Path, whole bool) {
	return remaining(paths, func(s step) bool { return s.field == name })
}

// BelowItem is BelowField for an item of a list.
func BelowItem(paths []Path, item any) (below []Path, whole bool) {
	return remaining(paths, func(s step) bool { return s.matchesItem(item) })
}

func remaining(paths []Path, matches func(step) bool) (below []Path, whole bool) {
	for _, p := range paths {
		switch {
		case !matches(p[0]):
		case len(p) == 1:
			return nil, true
		default:
			below = append(below, p[1:])
		}
	}
	return below, false
}

// Remove removes the values at the paths from a value, in place except for lists; use
// the returned value.
func Remove(paths []Path, from any) any {
	for _, p := range paths {
		from = p.remove(from)
	}
	return from
}

func (p Path) remove(from any) any {
	switch from := from.(type) {
	case map[string]any:
		inner, has := from[p[0].field]
		switch {
		case !has:
		case len(p) > 1:
			from[p[0].field] = p[1:].remove(inner)
		case !isOwn(p[0].field):
			delete(from, p[0].field)
		}
	case []any:
		if len(p) == 1 {
			return slices.DeleteFunc(slices.Clone(from), p[0].matchesItem)
		}
		for i, item := range from {
			if p[0].matchesItem(item) {
				from[i] = p[1:].remove(item)
			}
		}
	}
	return from
}

// Values returns the values at the paths.
func Values(paths []Path, of any) []any {
	var found []any
	for _, p := range paths {
		found = append(found, p.values(of)...)
	}
	return found
}

func (p Path) values(of any) []any {
	if len(p) == 0 {
		return []any{of}
	}
	switch of := of.(type) {
	case map[string]any:
		if inner, has := of[p[0].field]; has {
			return p[1:].values(inner)
		}
	case []any:
		var found []any
		for _, item := range of {
			if p[0].matchesItem(item) {
				found = append(found, p[1:].values(item)...)
			}
		}
		return found
	}
	return nil
}

// matchesItem reports whether an item of a list has the keys of a step. A key that the
// item leaves out has its default, so another one must be equal.
func (s step) matchesItem(item any) bool {
	fields, isMap := item.(map[string]any)
	if s.all || !isMap {
		return s.all
	}
	equal := 0
	for key, want := range s.keys {
		has, given := keyOf(fields, key)
		if given && fmt.Sprint(has) != want {
			return false
		}
		if given {
			equal++
		}
	}
	return equal > 0
}

// keyOf returns the value of a key of a list's item. A protocol is TCP unless the item
// says otherwise: no other key of Kubernetes' lists has a default.
func keyOf(item map[string]any, key string) (any, bool) {
	if value, given := item[key]; given || key != "protocol" {
		return value, given
	}
	return "TCP", true
}
