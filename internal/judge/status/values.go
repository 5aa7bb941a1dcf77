package status

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Integer reads a number, which some controllers write as a string.
func Integer(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), true
	case string:
		n, err := strconv.ParseInt(value, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// IsEmpty reports whether a status contains nothing that a controller had to
// observe.
func IsEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if !IsEmpty(v) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	}
	return value == nil
}

// IsDefault reports whether a status is the default in schemas such as Flux's, before any
// controller has written one: an observedGeneration below 1, and nothing else.
func IsDefault(status map[string]any) bool {
	seen, dated := Integer(status["observedGeneration"])
	return dated && seen < 1 && len(status) == 1
}

func firstInteger(values ...any) (int64, bool) {
	for _, value := range values {
		if n, ok := Integer(value); ok {
			return n, true
		}
	}
	return 0, false
}

// Status returns the status of an object, or nil.
func Status(obj *unstructured.Unstructured) map[string]any {
	status, _ := obj.Object["status"].(map[string]any)
	return status
}

// Spec returns the spec of an object, or nil.
func Spec(obj *unstructured.Unstructured) map[string]any {
	spec, _ := obj.Object["spec"].(map[string]any)
	return spec
}

// Conditions returns the list of conditions in a status or a part of it.
func Conditions(status map[string]any) []map[string]any {
	list, _ := status["conditions"].([]any)
	var conditions []map[string]any
	for _, entry := range list {
		if condition, ok := entry.(map[string]any); ok {
			conditions = append(conditions, condition)
		}
	}
	return conditions
}

// ObservedGeneration returns the generation that a controller has observed, under any of
// the names that controllers use for it.
func ObservedGeneration(obj *unstructured.Unstructured) (int64, bool) {
	status := Status(obj)
	for _, key := range []string{"observedGeneration", "reconciledGeneration", "lastReconciledGeneration", "lastObservedGeneration", "processedGeneration"} {
		if seen, ok := Integer(status[key]); ok {
			return seen, true
		}
	}
	generations, _ := status["generations"].(map[string]any)
	return Integer(generations["reconciled"])
}

// Condition returns the condition of a type in a status; nil if there is none.
func Condition(status map[string]any, name string) map[string]any {
	for _, condition := range Conditions(status) {
		if condition["type"] == name {
			return condition
		}
	}
	return nil
}
