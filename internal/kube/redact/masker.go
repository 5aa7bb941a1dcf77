package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Masker replaces the values of Secrets in objects by masks, such as "(hidden 1f4c2a)".
// For one Masker the same value has the same mask, so that changes show; other Maskers
// use others, so that no value can be looked up.
type Masker struct {
	salt  []byte
	masks map[string]string // by value
	inUse map[string]bool   // by mask
}

// NewMasker returns a Masker with a random salt. The error is crypto/rand's.
func NewMasker() (*Masker, error) {
	m := &Masker{salt: make([]byte, 32), masks: map[string]string{}, inUse: map[string]bool{}}
	if _, err := rand.Read(m.salt); err != nil {
		return nil, fmt.Errorf("make a salt to mask Secrets with: %w", err)
	}
	return m, nil
}

// Mask masks the values of Secrets in place, also where an annotation of one repeats
// a value of another. It ignores nil.
func (m *Masker) Mask(secrets ...*unstructured.Unstructured) {
	secrets = slices.DeleteFunc(secrets, func(secret *unstructured.Unstructured) bool { return secret == nil })
	for _, secret := range secrets {
		m.secret(secret.Object) // after this every value has its mask
	}
	copies := m.replacer()
	for _, secret := range secrets {
		eachAnnotation(secret.Object, copies.Replace)
	}
}

// Value masks a value of a Secret that is elsewhere, with all values below it, and returns it.
func (m *Masker) Value(value any) any {
	return m.values(value, func(text string) string { return text })
}

// isMask reports whether a text is a mask, as mask returns it.
func isMask(text string) bool {
	digits, begins := strings.CutPrefix(text, "(hidden ")
	digits, ends := strings.CutSuffix(digits, ")")
	_, err := hex.DecodeString(digits)
	return begins && ends && len(digits) >= 6 && err == nil
}

// FindMask returns the path and text of a value of a Secret that is a mask: the manifest is output
// of this program, and its values are lost. Other objects have none.
func FindMask(obj *unstructured.Unstructured) (path, mask string, found bool) {
	if obj.GetKind() != "Secret" || obj.GetAPIVersion() != "v1" {
		return "", "", false
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := obj.Object[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if text, isText := values[key].(string); isText && isMask(text) {
				return field + "." + key, text, true
			}
		}
	}
	return "", "", false
}

// secret masks the values of a Secret in place, and values in the manifests
// that its annotations contain, as kubectl's client-side apply writes them.
func (m *Masker) secret(fields map[string]any) {
	if data, has := fields["data"]; has {
		fields["data"] = m.values(data, func(text string) string {
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				return string(plain)
			}
			return text
		})
	}
	if data, has := fields["stringData"]; has {
		fields["stringData"] = m.values(data, func(text string) string { return text })
	}
	eachAppliedManifest(fields, m.manifest)
}

// manifest masks the JSON manifest of a Secret; text that cannot be parsed is
// masked as a whole.
func (m *Masker) manifest(text string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return m.mask(text)
	}
	m.secret(fields)
	masked, err := json.Marshal(fields)
	if err != nil {
		return m.mask(text)
	}
	return string(masked)
}

// values masks every value below a field by its decoded form.
func (m *Masker) values(value any, decoded func(string) string) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = m.values(inner, decoded)
		}
		return value
	case []any:
		for i, inner := range value {
			value[i] = m.values(inner, decoded)
		}
		return value
	case nil:
		return nil
	}
	return m.mask(decoded(fmt.Sprint(value)))
}

// replacer returns a replacer of values, plain or in base64, by their
// masks. Values of one or two characters are not replaced: that would
// only garble the text.
func (m *Masker) replacer() *strings.Replacer {
	values := slices.SortedFunc(maps.Keys(m.masks), byLength)
	var pairs []string
	for _, value := range values {
		if len(value) >= 3 {
			pairs = append(pairs, base64.StdEncoding.EncodeToString([]byte(value)), m.masks[value], value, m.masks[value])
		}
	}
	return strings.NewReplacer(pairs...)
}

// mask returns the mask of a value: "(hidden 1f4c2a)". Where two
// values would have the same one, the second gets a longer one.
func (m *Masker) mask(value string) string {
	if word, known := m.masks[value]; known {
		return word
	}
	sum := hmac.New(sha256.New, m.salt)
	sum.Write([]byte(value))
	digits := hex.EncodeToString(sum.Sum(nil))
	for n := 6; ; n += 2 {
		word := "(hidden " + digits[:n] + ")"
		if !m.inUse[word] {
			m.masks[value], m.inUse[word] = word, true
			return word
		}
	}
}
