package apply

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
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
	for _, value := range valuesIn(obj) {
		text = strings.ReplaceAll(text, value, hidden)
	}
	return &redacted{text, err}
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
// longest first. Values of one or two characters would only garble the text.
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
	values = slices.DeleteFunc(values, func(s string) bool { return len(s) < 3 })
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(values)
}
