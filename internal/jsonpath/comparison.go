package jsonpath

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// matches compares values with one as HIP-0025 specifies: numbers as numbers, booleans as
// booleans, everything else as strings, which have no order.
func matches(found []any, operator, value string) bool {
	texts := make([]string, len(found))
	for i, value := range found {
		texts[i] = fmt.Sprint(value)
	}
	got := strings.Join(texts, " ")
	order, ordered := compareNumbers(got, value)
	switch {
	case !ordered && got != value:
		return operator == "!="
	case !ordered:
		return operator == "=="
	}
	return meets(order, operator)
}

// meets reports whether the result of a comparison satisfies the operator.
func meets(order int, operator string) bool {
	return slices.Contains(map[string][]int{"==": {0}, "!=": {-1, 1}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}}[operator], order)
}

func compareNumbers(a, b string) (order int, ok bool) {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return cmp.Compare(x, y), errX == nil && errY == nil
}
