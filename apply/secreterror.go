package apply

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

// withoutSecrets is an error about a Secret without the Secret's values. The
// API server itself repeats them when one has the wrong type.
func withoutSecrets(obj *unstructured.Unstructured, err error) error {
	if obj.GetKind() != "Secret" || obj.GroupVersionKind().Group != "" {
		return err
	}
	text := wrongType().ReplaceAllString(err.Error(), "got another type")
	return &redacted{withoutValues(text, valuesIn(obj), openWords(obj)), err}
}

// withoutValues hides values, the longest first, in one pass over a text. What
// open matches stays, unless the server gives it as a value: hiding a part of a
// known name would tell what a value is.
func withoutValues(text string, values []string, open *regexp.Regexp) string {
	var out strings.Builder
	spans := open.FindAllStringIndex(text, -1)
	for at := 0; at < len(text); {
		for len(spans) > 0 && (spans[0][0] < at || isValue(text[:spans[0][0]])) {
			spans = spans[1:]
		}
		if len(spans) > 0 && spans[0][0] == at {
			out.WriteString(text[at:spans[0][1]])
			at = spans[0][1]
			continue
		}
		is := slices.IndexFunc(values, func(value string) bool { return isTold(text, at, value) })
		if is < 0 {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString(hidden)
		at += len(values[is])
	}
	return out.String()
}

// openWords are what every error about an object may say: what it is called, the
// paths of its fields, and the API server's own words.
func openWords(obj *unstructured.Unstructured) *regexp.Regexp {
	names := regexp.QuoteMeta(obj.GetName())
	if namespace := obj.GetNamespace(); namespace != "" {
		names += "|" + regexp.QuoteMeta(namespace)
	}
	return regexp.MustCompile(`"(?:` + names + `)"|\b[Ss]ecrets?\b|\b(?:Invalid|Required|Unsupported|Duplicate) value\b|\b(?:Forbidden|forbidden|invalid)\b` +
		`|\b(?:metadata|data|stringData|type|immutable)\b(?:[.\[][^\s:]*)?`)
}

// isTold tells whether a value stands at this place of a text. Short ones are
// words, which stand in any text: they count where they are quoted, given as a
// value, or have digits and stand alone.
func isTold(text string, at int, value string) bool {
	rest, found := strings.CutPrefix(text[at:], value)
	switch {
	case !found:
		return false
	case len(value) >= leastValue:
		return true
	}
	before := text[:at]
	if isQuote(lastOf(before)) && rest != "" && lastOf(before) == rest[0] {
		return true
	}
	alone := !isWordByte(lastOf(before)) && (rest == "" || !isWordByte(rest[0]))
	return alone && (isValue(before) || len(value) > 2 && strings.ContainsAny(value, "0123456789"))
}

// leastValue is how many bytes a value has that is hidden wherever it stands.
const leastValue = 6

// isValue tells whether a text ends in what the API server says before a value.
func isValue(before string) bool {
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

// redacted is an error in other words. What it wraps is for decisions, not for
// people.
type redacted struct {
	text  string
	cause error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.cause }

// wrongType matches what a typed patch error says of a value, however short
// that is.
func wrongType() *regexp.Regexp { return regexp.MustCompile(`got &[^\n]*`) }

// valuesIn are the values of a Secret as an error may repeat them, the
// longest first.
func valuesIn(obj *unstructured.Unstructured) []string {
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
