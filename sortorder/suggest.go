package sortorder

import (
	"fmt"
	"math"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
)

// didYouMean returns " (did you mean X?)" with the closest candidate, or "" if
// none is close.
func didYouMean(word string, candidates []string) string {
	best := closest(word, candidates, math.MaxInt)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// closest returns the most similar word, the first of equally similar ones; "" if none
// is similar or differs in fewer letters than the limit.
func closest(word string, candidates []string, limit int) string {
	best, _ := nearest.Best(candidates, func(candidate string) (int, bool) {
		letters := nearest.Edits(strings.ToLower(word), strings.ToLower(candidate))
		return letters, letters < min(limit, len(word)/3+2)
	})
	return best
}
