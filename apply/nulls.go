package apply

import (
	"context"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// dropNulls removes fields that are explicitly null from an object, in place:
// server-side apply refuses what create takes for absent. In a custom resource a
// null may be a value: where the schema calls the field nullable or does not
// describe it, and everywhere when the schema, nil then, is not known.
func dropNulls(obj *unstructured.Unstructured, schema map[string]any) {
	if object.OfKubernetes(obj.GroupVersionKind().Group) {
		dropNullFields(obj.Object, nil)
		return
	}
	dropNullFields(obj.Object["metadata"], nil)
	if schema != nil {
		dropNullFields(obj.Object, schema)
	}
}

// dropNullFields drops those that the schema describes and does not call
// nullable; without a schema all of them. Null elements of lists stay.
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

// isFreeForm reports whether a schema takes fields that it does not describe.
func isFreeForm(schema map[string]any) bool {
	return schema["x-kubernetes-preserve-unknown-fields"] == true
}

// fieldSchema is the schema of one field of an object; false when none describes
// it.
func fieldSchema(schema map[string]any, name string) (map[string]any, bool) {
	if properties, ok := schema["properties"].(map[string]any); ok {
		if field, ok := properties[name].(map[string]any); ok {
			return field, true
		}
	}
	more, ok := schema["additionalProperties"].(map[string]any)
	return more, ok
}

// patch applies a resource. Where the server refuses that a field is null, the
// field is left out.
func (a Applier) patch(ctx context.Context, kind Kind, sent *unstructured.Unstructured, options PatchOptions) (*unstructured.Unstructured, error) {
	for {
		live, err := a.Cluster.Apply(ctx, kind, sent, options)
		if err == nil || !dropRefusedNulls(sent, err) {
			return live, err
		}
		if err := mark(sent); err != nil {
			return nil, err
		}
	}
}

// dropRefusedNulls removes the null fields that the server said may not be null,
// and reports whether there were any.
func dropRefusedNulls(sent *unstructured.Unstructured, err error) bool {
	status, ok := asStatus(err)
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

// withoutIndexes is the path of a field whatever item of its lists it is in: the
// server counts the items of the merged list.
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
