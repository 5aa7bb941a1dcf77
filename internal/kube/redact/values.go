package redact

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// placeholder replaces the value of a Secret.
const placeholder = "(value of a Secret)"

// Values returns the values of a Secret in the forms in which an error may
// repeat them, the longest first.
func Values(obj *unstructured.Unstructured) []string {
	return Forms(obj.Object["data"], obj.Object["stringData"])
}

// Forms is Values for values of Secrets that are elsewhere.
func Forms(secrets ...any) []string {
	var values []string
	var collect func(any)
	collect = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, inner := range v {
				collect(inner)
			}
		case []any:
			for _, inner := range v {
				collect(inner)
			}
		case nil:
		default:
			text := fmt.Sprint(v)
			values = append(values, text)
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				values = append(values, string(plain))
			} else {
				values = append(values, base64.StdEncoding.EncodeToString([]byte(text)))
			}
		}
	}
	collect(secrets)
	for _, value := range slices.Clone(values) {
		values = append(values, strings.Trim(strconv.Quote(value), `"`))
	}
	values = slices.DeleteFunc(values, func(s string) bool { return s == "" })
	slices.SortFunc(values, byLength)
	return slices.Compact(values)
}

// byLength sorts the longest text first, so that none is hidden within a longer one.
func byLength(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// isValueAt reports whether a value is at this position of a text. Short values
// also occur as ordinary words: they count only where they are quoted,
// presented as a value, or contain digits and stand alone.
func isValueAt(text string, at int, value string) bool {
	rest, found := strings.CutPrefix(text[at:], value)
	switch {
	case !found:
		return false
	case len(value) >= minLength:
		return true
	}
	before := text[:at]
	if isQuote(lastOf(before)) && rest != "" && lastOf(before) == rest[0] {
		return true
	}
	alone := !isWordByte(lastOf(before)) && (rest == "" || !isWordByte(rest[0]))
	return alone && (introducesValue(before) || len(value) > 2 && strings.ContainsAny(value, "0123456789"))
}

// minLength is the length in bytes from which a value is hidden everywhere.
const minLength = 6

// introducesValue reports whether a text ends in the phrase with which the API server
// introduces a value.
func introducesValue(before string) bool {
	before = strings.TrimSuffix(before, `"`)
	return strings.HasSuffix(before, "value: ") || strings.HasSuffix(before, "Not found: ")
}

func lastOf(text string) byte {
	if text == "" {
		return ' '
	}
	return text[len(text)-1]
}

func isQuote(b byte) bool { return b == '"' || b == '\'' || b == '`' }

func isWordByte(b byte) bool {
	return b == '-' || b == '_' || b == '.' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80
}
