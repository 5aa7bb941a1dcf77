package sortorder

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// didYouMean returns " (did you mean X?)" with the closest candidate, or "" if
// none is close.
func didYouMean(word string, candidates []string) string {
	best, distance := "", len(word)/3+2
	for _, candidate := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}
