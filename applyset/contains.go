package applyset

import (
	"math/big"
	"reflect"
	"slices"
)

// contains reports whether a live value includes another value. Maps may have
// additional fields, which the server or other managers set; lists may not,
// except that an empty list makes no claim about items.
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
	case nil: // the server may have replaced it by a default
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

// hasContent reports whether a value contains a scalar at any depth.
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

// equal compares two values of unstructured objects, where a number may be
// int64 or float64.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, y := number(a), number(b)
	return x != nil && y != nil && x.Cmp(y) == 0
}

// number returns a value as an exact number, or nil.
func number(value any) *big.Rat {
	switch value := value.(type) {
	case int64:
		return new(big.Rat).SetInt64(value)
	case float64:
		return new(big.Rat).SetFloat64(value)
	}
	return nil
}
