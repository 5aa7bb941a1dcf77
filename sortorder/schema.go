package sortorder

import (
	"encoding/json"
	"reflect"
)

// Schema is the JSON Schema of a SortOrder, for editors. It is made from the
// same types that Parse reads into, so it knows every field that Parse knows.
// It is content with what Parse would refuse for deeper reasons, such as a
// shadowed selector.
func Schema() []byte {
	root := schemaOf(reflect.TypeFor[config]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = Kind
	root["required"] = []string{"apiVersion", "kind", "metadata"}
	properties := root["properties"].(map[string]any)
	narrow(properties, "apiVersion", APIVersion)
	narrow(properties, "kind", Kind)
	narrow(properties, "carry", string(Pack), string(Unpack))
	narrow(properties["emit"].(map[string]any), "items", emitTools()...)
	metadata := properties["metadata"].(map[string]any)
	metadata["additionalProperties"] = true
	metadata["required"] = []string{"name"}
	out, _ := json.MarshalIndent(root, "", "  ") // maps of strings always marshal
	return append(out, '\n')
}

// schemaOf describes a type by its json and doc tags.
func schemaOf(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[typeOrderSpec]() {
		object := structSchema(t)
		narrow(object["properties"].(map[string]any), "default", typeOrderNames()...)
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
	for i := range t.NumField() {
		field := t.Field(i)
		property := schemaOf(field.Type)
		property["description"] = field.Tag.Get("doc")
		properties[field.Tag.Get("json")] = property
	}
	switch t {
	case reflect.TypeFor[requirement]():
		narrow(properties, "operator", "In", "NotIn", "Exists", "DoesNotExist")
	case reflect.TypeFor[selectorSpec]():
		narrow(properties, "gate", "ready", "applied")
		annotations := properties["matchAnnotations"].(map[string]any)
		annotations["minProperties"] = 1
		annotations["additionalProperties"] = map[string]any{"type": "string", "minLength": 1}
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// narrow allows only these values of a property.
func narrow(properties map[string]any, name string, values ...string) {
	properties[name].(map[string]any)["enum"] = values
}
