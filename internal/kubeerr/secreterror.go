package kubeerr

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HiddenValue replaces the value of a Secret.
const HiddenValue = "(value of a Secret)"

// WithoutSecretValues hides a Secret's values in an error. The API server itself
// repeats them when one has the wrong type.
func WithoutSecretValues(obj *unstructured.Unstructured, err error) error {
	if obj.GetKind() != "Secret" || obj.GroupVersionKind().Group != "" {
		return err
	}
	text := wrongType().ReplaceAllString(err.Error(), "got another type")
	return &redactedError{withoutValues(text, SecretValues(obj), publicWords(obj)), err}
}

// withoutValues hides values, the longest first, in one pass over a text.
// Text that open matches is kept, unless the server presents it as a value:
// hiding a part of a known name would reveal what a value is.
func withoutValues(text string, values []string, open *regexp.Regexp) string {
	var out strings.Builder
	spans := open.FindAllStringIndex(text, -1)
	for at := 0; at < len(text); {
		for len(spans) > 0 && (spans[0][0] < at || introducesValue(text[:spans[0][0]])) {
			spans = spans[1:]
		}
		if len(spans) > 0 && spans[0][0] == at {
			out.WriteString(text[at:spans[0][1]])
			at = spans[0][1]
			continue
		}
		is := slices.IndexFunc(values, func(value string) bool { return IsValueAt(text, at, value) })
		if is < 0 {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString(HiddenValue)
		at += len(values[is])
	}
	return out.String()
}

// publicWords matches what every error about an object may contain: its name,
// the paths of its fields, and the API server's standard phrases.
func publicWords(obj *unstructured.Unstructured) *regexp.Regexp {
	names := regexp.QuoteMeta(obj.GetName())
	if namespace := obj.GetNamespace(); namespace != "" {
		names += "|" + regexp.QuoteMeta(namespace)
	}
	return regexp.MustCompile(`"(?:` + names + `)"|\b[Ss]ecrets?\b|\b(?:Invalid|Required|Unsupported|Duplicate) value\b|\b(?:Forbidden|forbidden|invalid)\b` +
		`|\b(?:metadata|data|stringData|type|immutable)\b(?:[.\[][^\s:]*)?`)
}

// IsValueAt reports whether a value is at this position of a text. Short values
// also occur as ordinary words: they count only where they are quoted,
// presented as a value, or contain digits and stand alone.
func IsValueAt(text string, at int, value string) bool {
	rest, found := strings.CutPrefix(text[at:], value)
	switch {
	case !found:
		return false
	case len(value) >= MinValueLength:
		return true
	}
	before := text[:at]
	if isQuote(lastOf(before)) && rest != "" && lastOf(before) == rest[0] {
		return true
	}
	alone := !isWordByte(lastOf(before)) && (rest == "" || !isWordByte(rest[0]))
	return alone && (introducesValue(before) || len(value) > 2 && strings.ContainsAny(value, "0123456789"))
}

// MinValueLength is the length in bytes from which a value is hidden everywhere.
const MinValueLength = 6

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

// redactedError is an error with another text. The wrapped error is for decisions,
// not for people.
type redactedError struct {
	text  string
	cause error
}

func (r *redactedError) Error() string { return r.text }
func (r *redactedError) Unwrap() error { return r.cause }

// wrongType matches the part of a typed patch error that contains a value,
// however short.
func wrongType() *regexp.Regexp { return regexp.MustCompile(`got &[^\n]*`) }

// SecretValues returns the values of a Secret in the forms in which an error may
// repeat them, the longest first.
func SecretValues(obj *unstructured.Unstructured) []string {
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
	collect(obj.Object["data"])
	collect(obj.Object["stringData"])
	for _, value := range slices.Clone(values) {
		values = append(values, strings.Trim(strconv.Quote(value), `"`))
	}
	values = slices.DeleteFunc(values, func(s string) bool { return s == "" })
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(values)
}
