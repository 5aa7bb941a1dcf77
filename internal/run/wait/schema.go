package wait

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
)

// IsSchemaPublished reports whether the API server publishes every schema that a live definition
// declares for a served version. It sends one request for each version.
func IsSchemaPublished(ctx context.Context, cluster kube.Cluster, crd *unstructured.Unstructured) (bool, error) {
	declared := declaredSchemas(crd)
	for _, kind := range kube.DefinedKinds(crd) {
		published, err := cluster.Schema(ctx, kind)
		if err != nil || !declares(declared[kind.Version], published) {
			return false, err
		}
	}
	return true, nil
}

// declaredSchemas returns the schemas of a definition by version.
func declaredSchemas(crd *unstructured.Unstructured) map[string]map[string]any {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	all := map[string]map[string]any{}
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		all[name], _, _ = unstructured.NestedMap(version, "schema", "openAPIV3Schema")
	}
	return all
}

// compared are the keywords of a schema that decide which fields are stored and with which
// values, and that the API server publishes as they are declared.
func compared() []string {
	return []string{"type", "enum", "required", "pattern", "default", "x-kubernetes-preserve-unknown-fields"}
}

// added are the properties that the API server adds to objects and embedded objects.
func added() []string { return []string{"apiVersion", "kind", "metadata"} }

// declares reports whether two schemas have the same properties, with the same constraints.
func declares(declared, published map[string]any) bool {
	for _, keyword := range compared() {
		if !isSame(declared[keyword], published[keyword]) {
			return false
		}
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		inner, isSchema := declared[keyword].(map[string]any)
		other, _ := published[keyword].(map[string]any)
		if isSchema && !declares(inner, other) {
			return false
		}
	}
	return declaresProperties(properties(declared), properties(published))
}

// isSame compares two values by their JSON: one was read with integers, the other with floats.
func isSame(a, b any) bool {
	one, errOne := json.Marshal(a)
	other, errOther := json.Marshal(b)
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}

func declaresProperties(declared, published map[string]any) bool {
	for name, inner := range declared {
		inner, _ := inner.(map[string]any)
		other, found := published[name].(map[string]any)
		if !slices.Contains(added(), name) && (!found || !declares(inner, other)) {
			return false
		}
	}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(published)), func(name string) bool {
		return declared[name] == nil && !slices.Contains(added(), name)
	})
}

func properties(schema map[string]any) map[string]any {
	all, _ := schema["properties"].(map[string]any)
	return all
}
