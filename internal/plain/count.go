package plain

import (
	"fmt"
	"strings"
)

// Count formats a number with a regular English noun: "1 resource", "3 resources",
// "2 boxes", "0 entries".
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "s"):
		noun += "es"
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
