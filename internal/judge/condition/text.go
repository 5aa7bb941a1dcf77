package condition

import (
	"strings"
)

// CutOperator cuts the operator of a Comparison from the beginning of a text. The
// operator is "" if there is none.
func CutOperator(text string) (operator, rest string) {
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if rest, ok := strings.CutPrefix(text, operator); ok {
			return operator, rest
		}
	}
	return "", text
}

// CutBraced cuts {path} from the beginning of a text, ignoring quoted braces. ok is false
// if a brace is missing.
func CutBraced(text string) (path, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "{")
	end := indexOutsideQuotes(text, func(r rune) bool { return r == '}' })
	if !ok || end < 0 {
		return "", "", false
	}
	return text[:end], text[end+1:], true
}

// Unquote removes double or single quotes around a value.
func Unquote(value string) string {
	for _, quote := range []string{`"`, `'`} {
		if len(value) >= 2 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return value[1 : len(value)-1]
		}
	}
	return value
}

// countSearches returns the number of .. in a path, outside of quotes.
func countSearches(path string) int {
	count, dots := 0, 0
	indexOutsideQuotes(path, func(r rune) bool {
		if r != '.' {
			dots = 0
		} else if dots++; dots == 2 {
			count, dots = count+1, 0
		}
		return false
	})
	return count
}

// indexOutsideQuotes returns the index of the first character outside quotes for which
// is returns true, or -1.
func indexOutsideQuotes(text string, is func(rune) bool) int {
	quote := rune(0)
	return strings.IndexFunc(text, func(r rune) bool {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		default:
			return is(r)
		}
		return false
	})
}
