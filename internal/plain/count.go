package plain

import (
	"fmt"
	"slices"
	"strings"
)

// Count formats a number with a regular English noun: "1 resource", "3 resources",
// "2 boxes", "0 entries".
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case endsIn(noun, "s", "x", "ch", "sh"):
		noun += "es"
	case endsIn(noun, "y") && !endsIn(noun, "ay", "ey", "oy", "uy"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func endsIn(word string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(word, ending) })
}
