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

// mask puts words in the place of the values of Secrets: the same words for the
// same value, so that one sees what changes, and never the same in two previews,
// so that nobody can look a value up.
type mask struct {
	salt  []byte
	words map[string]string // by value
	taken map[string]bool   // words that stand for a value
}

func newMask() (*mask, error) {
	m := &mask{salt: make([]byte, 32), words: map[string]string{}, taken: map[string]bool{}}
	if _, err := rand.Read(m.salt); err != nil {
		return nil, fmt.Errorf("make a salt to mask Secrets with: %w", err)
	}
	return m, nil
}

// row masks the objects of a row, in place.
func (m *mask) row(row *Row) {
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
		m.secret(secret) // every value has its word after that
	}
	copies := m.copies()
	for _, secret := range secrets {
		eachAnnotation(secret, copies.Replace)
	}
}

// secret masks the values of a Secret in place, and those in manifests of it
// that its annotations hold, as kubectl's client-side apply puts them there.
func (m *mask) secret(fields map[string]any) {
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
	eachAnnotation(fields, func(text string) string {
		if strings.Contains(text, `ata"`) { // "data" or "stringData"
			return m.manifest(text)
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

// manifest masks a Secret's manifest in JSON; what looks like one and cannot be
// read is masked as a whole.
func (m *mask) manifest(text string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return m.word(text)
	}
	m.secret(fields)
	masked, err := json.Marshal(fields)
	if err != nil {
		return m.word(text)
	}
	return string(masked)
}

// values masks every value below a field, as what it is when it is decoded.
func (m *mask) values(value any, decoded func(string) string) any {
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
	return m.word(decoded(fmt.Sprint(value)))
}

// copies replaces values, plain or in base64, by their words. Those of one or
// two characters would only garble a text.
func (m *mask) copies() *strings.Replacer {
	values := slices.Collect(maps.Keys(m.words))
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, value := range values {
		if len(value) >= 3 {
			pairs = append(pairs, base64.StdEncoding.EncodeToString([]byte(value)), m.words[value], value, m.words[value])
		}
	}
	return strings.NewReplacer(pairs...)
}

// word stands for a value: "(hidden 1f4c2a)". Where two values would get the
// same one, the second gets a longer one.
func (m *mask) word(value string) string {
	if word, known := m.words[value]; known {
		return word
	}
	sum := hmac.New(sha256.New, m.salt)
	sum.Write([]byte(value))
	digits := hex.EncodeToString(sum.Sum(nil))
	for n := 6; ; n += 2 {
		word := "(hidden " + digits[:n] + ")"
		if !m.taken[word] {
			m.words[value], m.taken[word] = word, true
			return word
		}
	}
}
