package differential

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// path is the way to a value in an object: names of fields and indexes of lists.
type path []any

// paths returns the paths of all values in an object, parents first, without the object's
// identity.
func paths(object map[string]any) []path {
	var all []path
	var walk func(at path, value any)
	visit := func(at path, value any) {
		switch at.String() {
		case "apiVersion", "kind", "metadata.name", "metadata.namespace":
			return
		case "metadata":
		default:
			all = append(all, at)
		}
		walk(at, value)
	}
	walk = func(at path, value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				visit(append(slices.Clone(at), name), value[name])
			}
		case []any:
			for i := range value {
				visit(append(slices.Clone(at), i), value[i])
			}
		}
	}
	walk(nil, object)
	return all
}

// String returns the path as people write it: spec.ports.0.name.
func (p path) String() string {
	var parts []string
	for _, step := range p {
		text, _ := json.Marshal(step)
		parts = append(parts, strings.Trim(string(text), `"`))
	}
	return strings.Join(parts, ".")
}

// at returns the value at a path.
func at(value any, p path) (any, bool) {
	for _, step := range p {
		switch step := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			below, has := fields[step]
			if !has {
				return nil, false
			}
			value = below
		case int:
			items, _ := value.([]any)
			if step >= len(items) {
				return nil, false
			}
			value = items[step]
		}
	}
	return value, true
}

// put sets the value at a path, and the parents that are missing. It returns the changed
// value, which shares nothing that was changed with the one before.
func put(value any, p path, v any) any {
	if len(p) == 0 {
		return v
	}
	if i, ok := p[0].(int); ok {
		items, _ := value.([]any)
		items = slices.Clone(items)
		if i >= len(items) {
			return append(items, put(nil, p[1:], v))
		}
		items[i] = put(items[i], p[1:], v)
		return items
	}
	name, _ := p[0].(string)
	fields, _ := value.(map[string]any)
	fields = maps.Clone(fields)
	if fields == nil {
		fields = map[string]any{}
	}
	fields[name] = put(fields[name], p[1:], v)
	return fields
}

// drop removes the field or item at a path, as put changes it.
func drop(value any, p path) any {
	parent, _ := at(value, p[:len(p)-1])
	switch last := p[len(p)-1].(type) {
	case int:
		return put(value, p[:len(p)-1], slices.Delete(slices.Clone(parent.([]any)), last, last+1))
	case string:
		fields := maps.Clone(parent.(map[string]any))
		delete(fields, last)
		return put(value, p[:len(p)-1], fields)
	}
	return value
}

// edit returns an object with random changes. other is another one of its kind, nil if
// there is none: some of its fields are taken over.
func edit(r *rand.Rand, object, other map[string]any) map[string]any {
	edited := any(object)
	for range 1 + r.IntN(3) {
		edited = editOnce(r, edited.(map[string]any), other)
	}
	return copied(edited.(map[string]any))
}

func editOnce(r *rand.Rand, object, other map[string]any) any {
	if other != nil && r.IntN(2) == 0 {
		return graft(r, object, other)
	}
	all := paths(object)
	if len(all) == 0 {
		return object
	}
	p := all[r.IntN(len(all))]
	value, _ := at(object, p)
	switch r.IntN(6) {
	case 0, 1:
		return drop(object, p)
	case 2:
		return put(object, p, emptied(r, value))
	default:
		return put(object, p, changed(r, value))
	}
}

// graft replaces a value by another object's value at its path, and removes it where there
// is none.
func graft(r *rand.Rand, object, other map[string]any) any {
	all := slices.DeleteFunc(append(paths(object), paths(other)...), func(p path) bool {
		a, has := at(object, p)
		b, theirs := at(other, p)
		_, parent := at(object, p[:len(p)-1])
		return !parent || has == theirs && reflect.DeepEqual(a, b)
	})
	if len(all) == 0 {
		return object
	}
	p := all[r.IntN(len(all))]
	value, has := at(other, p)
	if !has {
		return drop(object, p)
	}
	return put(object, p, value)
}

// changed returns another value of the same type.
func changed(r *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		return put(value, path{"k"}, []any{nil, "", "v"}[r.IntN(3)])
	case []any:
		return rearranged(r, value)
	case string:
		return value + "x"
	case bool:
		return !value
	case int:
		return value + 1
	case int64:
		return value + 1
	case float64:
		return value + 1
	}
	return "v"
}

// rearranged returns a list with its items in another order, or with one of them twice.
func rearranged(r *rand.Rand, items []any) []any {
	items = slices.Clone(items)
	switch {
	case len(items) == 0:
		return append(items, "v")
	case len(items) > 1 && r.IntN(3) > 0:
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items
	}
	return append(items, items[r.IntN(len(items))])
}

// copied returns a deep copy, as JSON reads it.
func copied(object map[string]any) map[string]any {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // objects are drawn from YAML, and hold nothing else
	}
	var out map[string]any
	_ = json.Unmarshal(data, &out)
	return out
}
