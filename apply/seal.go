package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Digest returns a digest of the row. It is equal for two rows with the same
// manifest, the same live object and the same result, as far as the manifest
// specifies their fields. No value of a Secret enters it in any form: a
// reader of the digest and the rest of the manifest could otherwise try out
// likely values. Of a Secret it covers the keys, which of them would change,
// and the version of the live object.
func (row Row) Digest() string {
	return base64.RawURLEncoding.EncodeToString(row.digest[:])
}

// setDigest records the digest's input before Secrets are masked. Of the live
// object and the result it takes only the fields of the manifest and those
// that the row shows as changed, so that an autoscaler may change others in
// the meantime.
func (r *previewRun) setDigest(i int, row *Row) error {
	sent := r.patchWithoutFingerprint(i).Object
	what := map[string]any{}
	var live, merged map[string]any
	if row.Live != nil {
		live, merged = row.Live.Object, row.Live.Object
		if row.Merged != nil && (row.Action == ActionUpdate || row.Action == ActionAdopt) { // on creation the server generates some fields
			merged = row.Merged.Object
		}
	}
	if row.ID.Kind == "Secret" && row.ID.Group == "" {
		sent, live, merged = digestedSecret(sent, live, merged)
		if found := r.steps[i].listedObject; found != nil && live != nil {
			what["version"] = string(found.GetUID()) + " " + found.GetResourceVersion()
		}
	}
	what["sent"] = sent
	if live != nil {
		what["live"], what["merged"] = specifiedFields(live, merged, sent)
	}
	text, err := json.Marshal(what)
	row.digest = sha256.Sum256(text)
	return err
}

// digestedSecret returns the manifest of a Secret, the live object and the
// result with placeholders for values. The placeholders show which values
// would change.
func digestedSecret(sent, live, merged map[string]any) (_, _, _ map[string]any) {
	sent, live, merged = copied(sent), copied(live), copied(merged)
	for _, field := range []string{"data", "stringData"} {
		replaceValues(sent[field], func(string, any) string { return "(value)" })
		before, after := copied(asMap(live[field])), copied(asMap(merged[field]))
		replaceValues(live[field], func(key string, value any) string { return unlessSame(value, after[key], "(before)") })
		replaceValues(merged[field], func(key string, value any) string { return unlessSame(value, before[key], "(after)") })
		for _, fields := range []map[string]any{sent, live, merged} {
			if _, has := fields[field]; has && asMap(fields[field]) == nil {
				fields[field] = "(no map)" // the API server rejects it
			}
		}
	}
	for _, fields := range []map[string]any{sent, live, merged} {
		if fields != nil {
			eachAnnotation(fields, func(text string) string {
				if strings.Contains(text, `ata"`) { // a manifest, as kubectl's client-side apply keeps it
					return "(manifest)"
				}
				return text
			})
		}
	}
	return sent, live, merged
}

func unlessSame(value, other any, word string) string {
	if reflect.DeepEqual(value, other) {
		return "(same)"
	}
	return word
}

// replaceValues replaces the values of a map by placeholders.
func replaceValues(field any, word func(key string, value any) string) {
	fields := asMap(field)
	for key, value := range maps.Clone(fields) {
		fields[key] = word(key, value)
	}
}

func asMap(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

func copied(fields map[string]any) map[string]any {
	if fields == nil {
		return nil
	}
	return (&unstructured.Unstructured{Object: fields}).DeepCopy().Object
}

// specifiedFields returns of two objects the fields that a third has, and those in
// which they differ. Lists are not descended into.
func specifiedFields(live, merged, sent map[string]any) (ofLive, ofMerged map[string]any) {
	ofLive, ofMerged = map[string]any{}, map[string]any{}
	for key := range sent {
		before, both := live[key].(map[string]any)
		after, all := merged[key].(map[string]any)
		inner, deep := sent[key].(map[string]any)
		if both && all && deep {
			ofLive[key], ofMerged[key] = specifiedFields(before, after, inner)
			continue
		}
		ofLive[key], ofMerged[key] = live[key], merged[key]
	}
	for _, side := range []map[string]any{live, merged} {
		for key := range side {
			if _, spoken := sent[key]; !spoken && !reflect.DeepEqual(live[key], merged[key]) {
				ofLive[key], ofMerged[key] = live[key], merged[key]
			}
		}
	}
	return ofLive, ofMerged
}
