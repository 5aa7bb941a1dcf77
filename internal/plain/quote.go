package plain

import (
	"regexp"
	"strings"
)

// ShellQuote quotes a word for a shell, if it needs quotes.
func ShellQuote(word string) string {
	if regexp.MustCompile(`^[-\w./,:=@%+]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
