package sortorder

import (
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
)

// closest returns the most similar word, the first of equally similar ones; "" if none
// is similar or differs in fewer letters than the limit.
func closest(word string, candidates []string, limit int) string {
	best, _ := nearest.Best(candidates, func(candidate string) (int, bool) {
		letters := nearest.Edits(strings.ToLower(word), strings.ToLower(candidate))
		return letters, letters < min(limit, len(word)/3+2)
	})
	return best
}
