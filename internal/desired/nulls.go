package desired

import (
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// streamSchemas returns the OpenAPI schemas of the kinds that the stream's
// CRDs define.
func streamSchemas(objects map[object.ID]*unstructured.Unstructured) map[schema.GroupVersionKind]map[string]any {
	schemas := map[schema.GroupVersionKind]map[string]any{}
	for _, obj := range objects {
		kinds := kube.DefinedKinds(obj)
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

// dropNulls removes explicit nulls from an object, in place: server-side
// apply rejects nulls that create treats as absent. In a custom resource a
// null may be a value: where the schema says that the field is nullable or
// does not describe it, and everywhere when the schema is unknown (nil).
func dropNulls(obj *unstructured.Unstructured, schema map[string]any) {
	if object.IsNative(obj.GroupVersionKind().Group) {
		dropNullFields(obj.Object, nil)
		return
	}
	dropNullFields(obj.Object["metadata"], nil)
	if schema != nil {
		dropNullFields(obj.Object, schema)
	}
}

// dropNullFields drops the nulls that the schema describes and does not
// allow; all nulls without a schema. Null elements of lists stay.
func dropNullFields(value any, schema map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			known, described := fieldSchema(schema, name)
			switch {
			case !described && isFreeForm(schema):
			case field == nil && known["nullable"] != true && (!isFreeForm(known) || known["type"] != nil):
				delete(value, name)
			default:
				dropNullFields(field, known)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		if isFreeForm(schema) && items == nil {
			return
		}
		for _, element := range value {
			dropNullFields(element, items)
		}
	}
}

// isFreeForm reports whether a schema allows fields that it does not
// describe.
func isFreeForm(schema map[string]any) bool {
	return schema["x-kubernetes-preserve-unknown-fields"] == true
}

// fieldSchema returns the schema of one field of an object; false when it is
// not described.
func fieldSchema(schema map[string]any, name string) (map[string]any, bool) {
	if properties, ok := schema["properties"].(map[string]any); ok {
		if field, ok := properties[name].(map[string]any); ok {
			return field, true
		}
	}
	more, ok := schema["additionalProperties"].(map[string]any)
	return more, ok
}

// dropRefusedNulls removes the null fields that the server rejected, and
// reports whether there were any.
func dropRefusedNulls(sent *unstructured.Unstructured, err error) bool {
	status, ok := kubeerr.AsStatus(err)
	if !ok || !apierrors.IsInvalid(err) || status.Details == nil {
		return false
	}
	refused := map[string]bool{}
	for _, cause := range status.Details.Causes {
		if strings.Contains(cause.Message, `Invalid value: "null"`) {
			refused[withoutIndexes(cause.Field)] = true
		}
	}
	return len(refused) > 0 && dropNullsAt(sent.Object, "", refused)
}

// withoutIndexes drops the list indexes from a field's path: the server's
// refer to the merged list.
func withoutIndexes(path string) string {
	return regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "[]")
}

func dropNullsAt(value any, path string, refused map[string]bool) (dropped bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			below := strings.TrimPrefix(path+"."+name, ".")
			if field == nil && refused[below] {
				delete(value, name)
				dropped = true
				continue
			}
			dropped = dropNullsAt(field, below, refused) || dropped
		}
	case []any:
		for _, element := range value {
			dropped = dropNullsAt(element, path+"[]", refused) || dropped
		}
	}
	return dropped
}
