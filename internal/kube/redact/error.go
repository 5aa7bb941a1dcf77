package redact

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Error returns an error without the values of obj if that is a Secret, and else the
// error itself. The API server repeats values, such as one of the wrong type. The result
// wraps err, for decisions.
func Error(obj *unstructured.Unstructured, err error) error {
	if obj.GetKind() != "Secret" || obj.GroupVersionKind().Group != "" {
		return err
	}
	text := wrongType().ReplaceAllString(err.Error(), "got another type")
	return Reworded(withoutValues(text, Values(obj), publicWords(obj)), err)
}

// Without returns an error without values of Secrets, in the forms of Forms; the error itself
// if there are none.
func Without(err error, values []string) error {
	if err == nil || len(values) == 0 {
		return err
	}
	text := wrongType().ReplaceAllString(err.Error(), "got another type")
	return Reworded(NewReplacer(values).Line(text), err)
}

// Reworded returns an error with another text. The wrapped cause is for decisions, not
// for people.
func Reworded(text string, cause error) error { return &redactedError{text, cause} }

type redactedError struct {
	text  string
	cause error
}

func (r *redactedError) Error() string { return r.text }

func (r *redactedError) Unwrap() error { return r.cause }

// wrongType matches the part of a typed patch error that contains a value,
// however short.
func wrongType() *regexp.Regexp { return regexp.MustCompile(`got &[^\n]*`) }

// withoutValues hides values, the longest first, in one pass over a text. Text
// that open matches is kept, unless the server presents it as a value: hiding a
// part of a known name would reveal a value.
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
		is := slices.IndexFunc(values, func(value string) bool { return isValueAt(text, at, value) })
		if is < 0 {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString(placeholder)
		at += len(values[is])
	}
	return out.String()
}

// publicWords matches the public parts of errors about an object: its name, the
// paths of its fields, and the API server's standard phrases.
func publicWords(obj *unstructured.Unstructured) *regexp.Regexp {
	names := regexp.QuoteMeta(obj.GetName())
	if namespace := obj.GetNamespace(); namespace != "" {
		names += "|" + regexp.QuoteMeta(namespace)
	}
	return regexp.MustCompile(`"(?:` + names + `)"|\b[Ss]ecrets?\b|\b(?:Invalid|Required|Unsupported|Duplicate) value\b|\b(?:Forbidden|forbidden|invalid)\b` +
		`|\b(?:metadata|data|stringData|type|immutable)\b(?:[.\[][^\s:]*)?`)
}
