package redact

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ForDigest returns copies of the manifest of a Secret, the live object and the result of
// applying it, without values: words show which of them would change. A digest of these
// says nothing about a value.
func ForDigest(sent, live, merged map[string]any) (_, _, _ map[string]any) {
	sent, live, merged = copied(sent), copied(live), copied(merged)
	for _, field := range []string{"data", "stringData"} {
		replaceValues(sent[field], func(string, any) string { return "(value)" })
		before, after := copied(asMap(live[field])), copied(asMap(merged[field]))
		replaceValues(live[field], func(key string, value any) string { return unlessSame(value, after[key], "(before)") })
		replaceValues(merged[field], func(key string, value any) string { return unlessSame(value, before[key], "(after)") })
		for _, fields := range []map[string]any{sent, live, merged} {
			if _, has := fields[field]; has && asMap(fields[field]) == nil {
				fields[field] = "(no map)" // the API server rejects it
			}
		}
	}
	for _, fields := range []map[string]any{sent, live, merged} {
		if fields != nil {
			eachAppliedManifest(fields, func(string) string { return "(manifest)" })
		}
	}
	return sent, live, merged
}

func unlessSame(value, other any, word string) string {
	if reflect.DeepEqual(value, other) {
		return "(same)"
	}
	return word
}

// replaceValues replaces the values of a map by words.
func replaceValues(field any, word func(key string, value any) string) {
	fields := asMap(field)
	for key, value := range maps.Clone(fields) {
		fields[key] = word(key, value)
	}
}

func asMap(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

func copied(fields map[string]any) map[string]any {
	if fields == nil {
		return nil
	}
	return (&unstructured.Unstructured{Object: fields}).DeepCopy().Object
}
