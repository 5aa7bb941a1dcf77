package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// streamSchemas are the OpenAPI schemas of the kinds that the stream's own
// CRDs define.
func streamSchemas(objects map[object.ID]*unstructured.Unstructured) map[schema.GroupVersionKind]map[string]any {
	schemas := map[schema.GroupVersionKind]map[string]any{}
	for _, obj := range objects {
		kinds := definedKinds(obj)
		versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			found, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			for _, kind := range kinds {
				if kind.Version == version["name"] {
					schemas[kind] = found
				}
			}
		}
	}
	return schemas
}

// dropNulls removes fields that are explicitly null from value, in place,
// unless the schema calls them nullable. Null elements of lists stay.
func dropNulls(value any, schema map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			known := fieldSchema(schema, name)
			if field == nil && known["nullable"] != true {
				delete(value, name)
				continue
			}
			dropNulls(field, known)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, element := range value {
			dropNulls(element, items)
		}
	}
}

// fieldSchema is the schema of one field of an object; nil when none is known.
func fieldSchema(schema map[string]any, name string) map[string]any {
	if properties, ok := schema["properties"].(map[string]any); ok {
		if field, ok := properties[name].(map[string]any); ok {
			return field
		}
	}
	more, _ := schema["additionalProperties"].(map[string]any)
	return more
}
