package applyset

import (
	"math/big"
	"reflect"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// contains reports whether a live value has all that another one has. Maps may
// have more, which the server or other managers filled in; lists may not, but
// that an empty one says nothing about items.
func contains(live, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		fields, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for key, v := range value {
			if has, ok := fields[key]; !ok || !contains(has, v) {
				return false
			}
		}
		return true
	case []any:
		items, ok := live.([]any)
		if !ok || len(value) > 0 && len(items) != len(value) {
			return false
		}
		for i, v := range value {
			if !contains(items[i], v) {
				return false
			}
		}
		return true
	case nil: // a default may stand in its place
		return !isContainer(live)
	}
	return equal(live, value)
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// hasContent reports whether there is a scalar anywhere in a value.
func hasContent(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if hasContent(v) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(value, hasContent)
	}
	return value != nil
}

// equal compares two values of unstructured objects, in which a number may be
// int64 or float64.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, y := number(a), number(b)
	return x != nil && y != nil && x.Cmp(y) == 0
}

// number is a value as an exact number; nil when it is none.
func number(value any) *big.Rat {
	switch value := value.(type) {
	case int64:
		return new(big.Rat).SetInt64(value)
	case float64:
		return new(big.Rat).SetFloat64(value)
	}
	return nil
}

// sameValue compares a JSON text with a value of an unstructured object.
func sameValue(text string, value any) bool {
	var decoded any
	if utiljson.Unmarshal([]byte(text), &decoded) != nil {
		return false
	}
	return equal(decoded, value)
}
