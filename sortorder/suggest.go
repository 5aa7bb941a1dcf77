package sortorder

import (
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
)

// closest returns the most similar word, the first of equally similar ones; "" if none
// is similar or differs in fewer letters than the limit. A word with a prefix or suffix, as
// kustomize adds to names, is similar.
func closest(word string, candidates []string, limit int) string {
	best, _ := nearest.Best(candidates, func(candidate string) (int, bool) {
		letters := nearest.Edits(strings.ToLower(word), strings.ToLower(candidate))
		renamed := strings.HasSuffix(candidate, "-"+word) || strings.HasPrefix(candidate, word+"-")
		return letters, renamed || letters < min(limit, len(word)/3+2)
	})
	return best
}
