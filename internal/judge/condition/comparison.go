package condition

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/internal/limits"
)

// matches compares values with one as HIP-0025 specifies: numbers as numbers, booleans as
// booleans, everything else as strings, which have no order.
func matches(found []any, operator, value string) bool {
	texts := make([]string, len(found))
	for i, value := range found {
		texts[i] = text(value)
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

// text returns a value as it is compared. A large map or list equals nothing.
func text(value any) string {
	switch value.(type) {
	case map[string]any, []any:
		if left := limits.PathText; !fits(value, &left) {
			return "…"
		}
	}
	return fmt.Sprint(value)
}

// fits reports whether the size of a value is at most left, and subtracts it.
func fits(value any, left *int) bool {
	*left--
	switch value := value.(type) {
	case string:
		*left -= len(value)
	case []any:
		for _, item := range value {
			if *left < 0 || !fits(item, left) {
				return false
			}
		}
	case map[string]any:
		for key, item := range value {
			if *left -= len(key); *left < 0 || !fits(item, left) {
				return false
			}
		}
	}
	return *left >= 0
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
