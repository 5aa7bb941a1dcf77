package applyset_test

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// spot is a position in an object that can be edited.
type spot struct {
	shape *shape // nil below a free-form field
	get   func() any
	set   func(any)
	drop  func()
}

// spots returns all positions below a value, parents first. put replaces the
// value in its parent.
func spots(s *shape, value any, put func(any)) []spot {
	var out []spot
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			below := s.below(name)
			set := func(v any) { value[name] = v }
			out = append(out, spot{below, func() any { return value[name] }, set, func() { delete(value, name) }})
			out = append(out, spots(below, value[name], set)...)
		}
	case []any:
		for i := range value {
			var below *shape
			if s != nil {
				below = s.element
			}
			set := func(v any) { value[i] = v }
			out = append(out, spot{below, func() any { return value[i] }, set, func() { put(slices.Delete(slices.Clone(value), i, i+1)) }})
			out = append(out, spots(below, value[i], set)...)
		}
	}
	return out
}

func (s *shape) below(name string) *shape {
	if s == nil {
		return nil
	}
	if field, ok := s.fields[name]; ok {
		return field
	}
	return s.element
}

// edit changes a random position of an object.
func (r shapes) edit(s *shape, spec map[string]any) map[string]any {
	spec = runtime.DeepCopyJSON(spec)
	all := spots(s, spec, nil)
	if len(all) == 0 || r.IntN(10) == 0 {
		return r.value(s, 3).(map[string]any)
	}
	at := all[r.IntN(len(all))]
	switch r.IntN(6) {
	case 0:
		at.drop()
	case 1:
		r.reorder(at)
	case 2:
		r.extend(at)
	case 3:
		at.set(r.emptied(at.get()))
	default:
		at.set(r.replacement(at.shape))
	}
	return spec
}

func (r shapes) replacement(s *shape) any {
	if s == nil {
		return r.free(3)
	}
	return r.value(s, 3)
}

func (r shapes) emptied(value any) any {
	switch value.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	}
	return r.text()
}

func (r shapes) reorder(at spot) {
	items, ok := at.get().([]any)
	if !ok {
		at.set(r.replacement(at.shape))
		return
	}
	items = slices.Clone(items)
	r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	at.set(items)
}

// extend adds a field or an item that is not in the manifest.
func (r shapes) extend(at spot) {
	switch value := at.get().(type) {
	case map[string]any:
		switch {
		case at.shape == nil || at.shape.kind == freeForm:
			value["z"] = r.free(2)
		case at.shape.kind == mapping:
			value["z"] = r.value(at.shape.element, 2)
		default:
			for name, field := range at.shape.fields {
				if _, has := value[name]; !has {
					value[name] = r.value(field, 2)
				}
			}
		}
	case []any:
		items := slices.Clone(value)
		where := r.IntN(len(items) + 1)
		if at.shape == nil {
			at.set(slices.Insert(items, where, r.free(2)))
			return
		}
		switch more := r.value(at.shape.element, 2).(type) {
		case map[string]any:
			if at.shape.kind == keyed {
				more["name"] = "z"
			}
			items = slices.Insert(items, where, any(more))
		default:
			if at.shape.kind == set {
				more = "z"
			}
			items = slices.Insert(items, where, more)
		}
		at.set(items)
	default:
		at.set(r.replacement(at.shape))
	}
}
