package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// checkTexts returns an error for labels or annotations that are not strings:
// the API server would reject them, and reading them anyway would lose all
// others. Lists under Helm's keys, as in HIP-0025, are converted to JSON
// strings.
func checkTexts(obj *unstructured.Unstructured, field string) error {
	texts, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", field)
	if texts == nil {
		return nil
	}
	values, ok := texts.(map[string]any)
	if !ok {
		return fmt.Errorf("%s %s: metadata.%s is not a map of strings", obj.GetKind(), obj.GetName(), field)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch value := values[key].(type) {
		case string, nil: // a null is an empty string to the API server
		case []any:
			if !strings.HasPrefix(key, "helm.sh/") {
				return fmt.Errorf("%s %s: metadata.%s: the value of %s must be a string, not a list", obj.GetKind(), obj.GetName(), field, key)
			}
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			values[key] = string(text)
		default:
			return fmt.Errorf("%s %s: metadata.%s: the value of %s is not a string, YAML reads it as %v: put the value in quotes", obj.GetKind(), obj.GetName(), field, key, value)
		}
	}
	return nil
}

// checkName returns an error for a name or namespace that YAML reads as a
// number or boolean.
func checkName(obj *unstructured.Unstructured) error {
	for _, field := range []string{"name", "generateName", "namespace"} {
		value, found, err := unstructured.NestedFieldNoCopy(obj.Object, "metadata", field)
		if _, isText := value.(string); isText || !found || err != nil || value == nil {
			continue
		}
		switch value.(type) {
		case map[string]any, []any:
			return fmt.Errorf("%s: metadata.%s must be a string", obj.GetKind(), field)
		}
		return fmt.Errorf("%s: metadata.%s is not a string, YAML reads it as %v: put the value in quotes", obj.GetKind(), field, value)
	}
	return nil
}
