package plain

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// ShellQuote quotes a word for a shell, if it needs quotes.
func ShellQuote(word string) string {
	if regexp.MustCompile(`^[-\w./,:=@%+]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// YAML returns a text as a scalar of YAML that every parser reads as a string: quoted unless
// it is a plain word, and with control characters escaped.
func YAML(text string) string {
	isOther := func(r rune) bool { return !isWord(r) && !strings.ContainsRune("-./=", r) }
	isPlain := text != "" && unicode.IsLetter(rune(text[0])) && !strings.ContainsFunc(text, isOther)
	if isPlain && !slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	quoted, _ := json.Marshal(text) // a string always marshals
	return string(JSON(quoted))
}
