package mutation

import "k8s.io/apimachinery/pkg/runtime"

// Place is where a value is in an object: keys, and the indices of items; or a pattern of
// such places.
type Place []any

type (
	each  struct{} // any field or item
	below struct{} // the value itself, and everything below it
)

// ChangeAt replaces the values at places of an object. The items of a list may have moved,
// so each counts. Identifying fields stay.
func ChangeAt(places []Place, fields map[string]any, by func(any) any) {
	if fields == nil {
		return
	}
	kept := identity(fields)
	for _, place := range places {
		place.change(fields, by)
	}
	for _, restore := range kept {
		restore()
	}
}

// ValuesAt returns the values at places of an object.
func ValuesAt(places []Place, fields map[string]any) []any {
	if len(places) == 0 {
		return nil
	}
	var values []any
	ChangeAt(places, runtime.DeepCopyJSON(fields), func(value any) any {
		values = append(values, value)
		return value
	})
	return values
}

// identity returns functions that restore the fields that identify an object.
func identity(fields map[string]any) []func() {
	var out []func()
	keep := func(fields map[string]any, keys ...string) {
		for _, key := range keys {
			if value, has := fields[key].(string); has {
				out = append(out, func() { fields[key] = value })
			}
		}
	}
	keep(fields, "apiVersion", "kind")
	metadata, _ := fields["metadata"].(map[string]any)
	keep(metadata, "name", "namespace", "uid")
	return out
}

// change replaces the value at a place, in each item of the lists on the way.
func (p Place) change(value any, by func(any) any) any {
	if len(p) == 0 {
		return by(value)
	}
	_, deep := p[0].(below)
	rest := p[1:]
	if deep {
		rest = p
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if selects(p[0], key) {
				value[key] = rest.change(inner, by)
			}
		}
	case []any:
		for i, item := range value {
			value[i] = rest.change(item, by)
		}
	}
	if deep {
		return p[1:].change(value, by)
	}
	return value
}

// selects reports whether a part of a place selects a field.
func selects(part any, key string) bool {
	switch part := part.(type) {
	case string:
		return part == key
	case int:
		return false
	}
	return true
}
