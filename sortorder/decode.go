package sortorder

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decoder fills Go values from a decoded document. It collects all problems
// with their field paths instead of stopping at the first one.
type decoder struct{ problems Problems }

// into stores value in target, the field at path.
func (d *decoder) into(target reflect.Value, value any, path string) {
	if value == nil {
		d.problems.add(path, "is null: leave the field out or give it a value")
		return
	}
	if spec, ok := target.Addr().Interface().(*typeOrderSpec); ok {
		if name, ok := value.(string); ok {
			spec.Default = name
			return
		}
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		d.into(target.Elem(), value, path)
	case reflect.String, reflect.Bool:
		d.scalar(target, value, path)
	case reflect.Slice:
		d.list(target, value, path)
	case reflect.Map:
		d.stringMap(target, value, path)
	case reflect.Struct:
		d.object(target, value, path)
	}
}

// scalar stores a string or boolean.
func (d *decoder) scalar(target reflect.Value, value any, path string) {
	_, isList := value.([]any)
	_, isMap := value.(map[string]any)
	switch v := reflect.ValueOf(value); {
	case v.Kind() == target.Kind():
		target.Set(v)
	case target.Kind() == reflect.Bool:
		d.problems.add(path, "must be true or false, not %s", describe(value))
	case isList || isMap:
		d.problems.add(path, "must be a string, not %s", describe(value))
	default:
		d.problems.add(path, "is %s: write it in quotes", describe(value))
	}
}

// list stores a sequence.
func (d *decoder) list(target reflect.Value, value any, path string) {
	entries, ok := value.([]any)
	if !ok {
		d.problems.add(path, "must be a list, not %s", describe(value))
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(entries), len(entries)))
	for i, entry := range entries {
		d.into(target.Index(i), entry, fmt.Sprintf("%s[%d]", path, i))
	}
}

// stringMap stores a mapping from string to string. Empty and absent maps stay
// distinct.
func (d *decoder) stringMap(target reflect.Value, value any, path string) {
	fields, ok := value.(map[string]any)
	if !ok {
		d.problems.add(path, "must be a map of strings, not %s", describe(value))
		return
	}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		var text string
		d.into(reflect.ValueOf(&text).Elem(), fields[key], path+"."+pathKey(key))
		out[key] = text
	}
	target.Set(reflect.ValueOf(out))
}

// object stores a mapping in a struct and reports unknown fields, except in
// metadata, where build tools add fields.
func (d *decoder) object(target reflect.Value, value any, path string) {
	fields, ok := value.(map[string]any)
	if !ok {
		d.problems.add(path, "must be a map, not %s", describe(value))
		return
	}
	known := map[string]bool{}
	for _, f := range fieldsOf(target.Type()) {
		name := f.Tag.Get("json")
		known[name] = true
		field, has := fields[name]
		if values := f.Tag.Get("values"); has && field == "" && values != "" {
			d.problems.add(join(path, name), "is empty: write %s, or leave the field out", values)
		} else if has {
			d.into(target.FieldByIndex(f.Index), field, join(path, name))
		}
	}
	if target.Type() == reflect.TypeFor[metadata]() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !known[name] {
			d.problems.add(join(path, name), "unknown field%s", meant(name, known))
		}
	}
}

// meant returns what an unknown field was probably meant as, in parentheses. In a
// selector, labels are one level further down than people expect.
func meant(name string, known map[string]bool) string {
	switch {
	case known["labelSelector"] && (name == "matchLabels" || name == "labels"):
		return " (did you mean labelSelector: {matchLabels: {…}}?)"
	case known["matchAnnotations"] && name == "annotations":
		return " (did you mean matchAnnotations?)"
	}
	return didYouMean(name, slices.Sorted(maps.Keys(known)))
}

// fieldsOf returns the fields of a struct, with those of embedded structs in their place.
func fieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// present returns the names of the fields of a struct that the document has.
func present(fields any) []string {
	var names []string
	value := reflect.ValueOf(fields)
	for _, field := range fieldsOf(value.Type()) {
		if !value.FieldByIndex(field.Index).IsNil() {
			names = append(names, field.Tag.Get("json"))
		}
	}
	return names
}

// yamlReason returns the parser's message without its prefixes.
func yamlReason(err error) string {
	reason := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	return strings.ReplaceAll(strings.TrimPrefix(reason, "yaml: "), "\n", " ")
}

// join appends a field to a field path.
func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// pathKey formats a map's key for a field path: quoted if it contains dots.
func pathKey(key string) string {
	if strings.ContainsAny(key, "./ ") || key == "" {
		return fmt.Sprintf("%q", key)
	}
	return key
}

// describe returns a decoded value's type and, for a scalar, the value.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %q", v)
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	text, _ := json.Marshal(value) // decoded scalars always marshal
	return "the number " + string(text)
}
