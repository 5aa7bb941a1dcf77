package apply

import (
	"cmp"
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

// redactor replaces the values of Secrets by placeholders. Within one preview the
// same value has the same placeholder, so that changes show; other previews
// use others, so that no value can be looked up.
type redactor struct {
	salt         []byte
	placeholders map[string]string // placeholders by value
	inUse        map[string]bool   // placeholders in use
}

func newRedactor() (*redactor, error) {
	m := &redactor{salt: make([]byte, 32), placeholders: map[string]string{}, inUse: map[string]bool{}}
	if _, err := rand.Read(m.salt); err != nil {
		return nil, fmt.Errorf("make a salt to mask Secrets with: %w", err)
	}
	return m, nil
}

// redactRow masks the objects of a row, in place.
func (m *redactor) redactRow(row *Row) {
	if row.ID.Kind != "Secret" || row.ID.Group != "" {
		return
	}
	var secrets []map[string]any
	for _, obj := range []*unstructured.Unstructured{row.Live, row.Merged} {
		if obj != nil {
			secrets = append(secrets, obj.Object)
		}
	}
	for _, secret := range secrets {
		m.redactSecret(secret) // after this every value has its placeholder
	}
	copies := m.replacer()
	for _, secret := range secrets {
		eachAnnotation(secret, copies.Replace)
	}
}

// redactSecret masks the values of a Secret in place, and those in the manifests
// that its annotations contain, as kubectl's client-side apply writes them.
func (m *redactor) redactSecret(fields map[string]any) {
	if data, has := fields["data"]; has {
		fields["data"] = m.redactValues(data, func(text string) string {
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				return string(plain)
			}
			return text
		})
	}
	if data, has := fields["stringData"]; has {
		fields["stringData"] = m.redactValues(data, func(text string) string { return text })
	}
	eachAnnotation(fields, func(text string) string {
		if strings.Contains(text, `ata"`) { // "data" or "stringData"
			return m.redactManifest(text)
		}
		return text
	})
}

// eachAnnotation changes the annotations of an object in place.
func eachAnnotation(fields map[string]any, change func(string) string) {
	metadata, _ := fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key, value := range annotations {
		annotations[key] = change(fmt.Sprint(value))
	}
}

// redactManifest masks the JSON manifest of a Secret; text that cannot be parsed is
// masked as a whole.
func (m *redactor) redactManifest(text string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return m.placeholder(text)
	}
	m.redactSecret(fields)
	masked, err := json.Marshal(fields)
	if err != nil {
		return m.placeholder(text)
	}
	return string(masked)
}

// redactValues masks every value below a field by its decoded form.
func (m *redactor) redactValues(value any, decoded func(string) string) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = m.redactValues(inner, decoded)
		}
		return value
	case []any:
		for i, inner := range value {
			value[i] = m.redactValues(inner, decoded)
		}
		return value
	case nil:
		return nil
	}
	return m.placeholder(decoded(fmt.Sprint(value)))
}

// replacer returns a replacer of values, plain or in base64, by their
// placeholders. Values of one or two characters are not replaced: that would
// only garble the text.
func (m *redactor) replacer() *strings.Replacer {
	values := slices.Collect(maps.Keys(m.placeholders))
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, value := range values {
		if len(value) >= 3 {
			pairs = append(pairs, base64.StdEncoding.EncodeToString([]byte(value)), m.placeholders[value], value, m.placeholders[value])
		}
	}
	return strings.NewReplacer(pairs...)
}

// placeholder returns the placeholder of a value: "(hidden 1f4c2a)". Where two
// values would have the same one, the second gets a longer one.
func (m *redactor) placeholder(value string) string {
	if word, known := m.placeholders[value]; known {
		return word
	}
	sum := hmac.New(sha256.New, m.salt)
	sum.Write([]byte(value))
	digits := hex.EncodeToString(sum.Sum(nil))
	for n := 6; ; n += 2 {
		word := "(hidden " + digits[:n] + ")"
		if !m.inUse[word] {
			m.placeholders[value], m.inUse[word] = word, true
			return word
		}
	}
}
