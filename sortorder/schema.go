package sortorder

import (
	"encoding/json"
	"reflect"

	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/internal/text/strict"
)

// SchemaURL is where editors find the JSON Schema of a SortOrder, and its $id.
const SchemaURL = "https://raw.githubusercontent.com/ordapply/ordapply/main/sortorder/schema.json"

// Schema returns the JSON Schema (draft 7) of a SortOrder for editors. It is
// generated from the types into which Parse decodes, so it has the same fields.
// It does not cover semantic errors, such as a shadowed selector.
func Schema() []byte {
	root := schemaOf(reflect.TypeFor[config]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["$id"] = SchemaURL
	root["title"] = Kind
	root["required"] = []string{"apiVersion", "kind", "metadata"}
	properties := root["properties"].(map[string]any)
	narrow(properties, "apiVersion", APIVersion)
	narrow(properties, "kind", Kind)
	narrow(properties, "carry", string(Pack), string(Unpack))
	notEmpty(properties, "of")
	narrow(properties, "outputOrder", string(ByPlan), string(ByPrecedence))
	narrow(properties["emit"].(map[string]any), "items", stamp.Tools()...)
	metadata := properties["metadata"].(map[string]any)
	metadata["additionalProperties"] = true
	metadata["required"] = []string{"name"}
	pattern(metadata["properties"].(map[string]any), "name", nameForm)
	properties["timeouts"].(map[string]any)["additionalProperties"] = map[string]any{"type": "string", "pattern": durationForm}
	root["allOf"] = []any{ // "of" requires carry, and carry: unpack requires "of"
		map[string]any{"anyOf": []any{withoutField("of"), withField("carry")}},
		map[string]any{"anyOf": []any{withoutField("carry"), having("carry", map[string]any{"enum": []string{string(Pack)}}), withField("of")}},
	}
	out, _ := json.MarshalIndent(root, "", "  ") // maps of strings always marshal
	return append(out, '\n')
}

// schemaOf returns the schema of a type, from its json and doc tags.
func schemaOf(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[typeOrderSpec]() {
		object := structSchema(t)
		fields := object["properties"].(map[string]any)
		narrow(fields, "default", typeOrderNames()...)
		for _, name := range []string{"first", "last"} {
			fields[name].(map[string]any)["items"] = map[string]any{"type": "string", "pattern": kindForm}
		}
		return map[string]any{"oneOf": []any{map[string]any{"enum": typeOrderNames()}, object}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	}
	return map[string]any{"type": "string"}
}

func structSchema(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, field := range strict.FieldsOf(t) {
		property := schemaOf(field.Type)
		property["description"] = field.Tag.Get("doc")
		properties[field.Tag.Get("json")] = property
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if _, has := properties["timeout"]; has {
		pattern(properties, "timeout", durationForm)
	}
	switch t {
	case reflect.TypeFor[requirement]():
		narrow(properties, "operator", "In", "NotIn", "Exists", "DoesNotExist")
		notEmpty(properties, "key")
		out["required"] = []string{"key", "operator"}
		out["oneOf"] = []any{
			map[string]any{"properties": map[string]any{"operator": map[string]any{"enum": []string{"In", "NotIn"}}, "values": map[string]any{"minItems": 1}}, "required": []string{"values"}},
			map[string]any{"properties": map[string]any{"operator": map[string]any{"enum": []string{"Exists", "DoesNotExist"}}, "values": map[string]any{"maxItems": 0}}},
		}
	case reflect.TypeFor[labelSelector]():
		out["minProperties"] = 1
	case reflect.TypeFor[selectorSpec]():
		narrow(properties, "gate", "ready", "applied")
		pattern(properties, "layer", nameForm)
		notEmpty(properties, "kind", "name")
		notEmptyConditions(properties)
		out["anyOf"] = anyOf("matchAnnotations", "matchExpressions", "labelSelector", "group", "kind", "namespace", "name", "unmatched")
	case reflect.TypeFor[layerSpec]():
		notEmpty(properties, "name")
		out["required"] = []string{"name"}
	case reflect.TypeFor[Stack]():
		notEmpty(properties, "name")
		out["required"] = []string{"name"}
	case reflect.TypeFor[Application]():
		notEmpty(properties, "name", "kind", "resourceName")
		notEmptyConditions(properties)
		out["required"] = []string{"name"}
		out["anyOf"] = anyOf("matchAnnotations", "matchExpressions", "labelSelector", "group", "kind", "namespace", "resourceName", "external")
	case reflect.TypeFor[External]():
		notEmpty(properties, "apiVersion", "kind", "name")
		out["required"] = []string{"apiVersion", "kind", "name"}
	case reflect.TypeFor[HealthRule]():
		notEmpty(properties, "kind")
		out["required"] = []string{"kind"}
	}
	return out
}

// Formats of strings, as regular expressions.
const (
	nameForm     = `^[A-Za-z0-9._=+-]+$`
	kindForm     = `^[^.]+(\..*)?$`
	durationForm = `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$`
)

// notEmptyConditions requires the conditions of a selector to be non-empty.
func notEmptyConditions(properties map[string]any) {
	annotations := properties["matchAnnotations"].(map[string]any)
	annotations["minProperties"] = 1
	annotations["additionalProperties"] = map[string]any{"type": "string", "minLength": 1}
	properties["matchExpressions"].(map[string]any)["minItems"] = 1
}

func notEmpty(properties map[string]any, names ...string) {
	for _, name := range names {
		properties[name].(map[string]any)["minLength"] = 1
	}
}

func pattern(properties map[string]any, name, form string) {
	properties[name].(map[string]any)["pattern"] = form
}

// withField, withoutField and having return schemas of objects that have a
// field, do not have it, or have it with a given schema.
func withField(name string) map[string]any { return map[string]any{"required": []string{name}} }

func withoutField(name string) map[string]any { return map[string]any{"not": withField(name)} }

func having(name string, like map[string]any) map[string]any {
	return map[string]any{"properties": map[string]any{name: like}, "required": []string{name}}
}

// anyOf returns schemas of objects with one of these fields.
func anyOf(names ...string) []any {
	var out []any
	for _, name := range names {
		out = append(out, withField(name))
	}
	return out
}

// narrow restricts a property to these values.
func narrow(properties map[string]any, name string, values ...string) {
	properties[name].(map[string]any)["enum"] = values
}
