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

// Seal is the same for two rows when they are of the same manifest and the same
// live object, as far as a manifest speaks of one, and say that the same becomes of
// it. It is a digest. No value of a Secret goes into it, in any form: a reader of
// the seal and of the rest of the manifest could else try out likely values. Of a
// Secret it holds which keys there are, which of them would change, and which
// version of the live object was seen.
func (row Row) Seal() string {
	return base64.RawURLEncoding.EncodeToString(row.essence[:])
}

// seal keeps what a row is about before its Secrets are masked: of what there is,
// and of what would come of a PATCH, no more than the manifest speaks of and the
// row shows as a change. An autoscaler may go on meanwhile.
func (r *rehearsal) seal(i int, row *Row) error {
	sent := r.sent(i).Object
	what := map[string]any{}
	var live, merged map[string]any
	if row.Live != nil {
		live, merged = row.Live.Object, row.Live.Object
		if row.Merged != nil && (row.Action == WillUpdate || row.Action == WillAdopt) { // of a new one the server draws lots for some fields
			merged = row.Merged.Object
		}
	}
	if row.ID.Kind == "Secret" && row.ID.Group == "" {
		sent, live, merged = sealedSecret(sent, live, merged)
		if found := r.steps[i].found; found != nil && live != nil {
			what["version"] = string(found.GetUID()) + " " + found.GetResourceVersion()
		}
	}
	what["sent"] = sent
	if live != nil {
		what["live"], what["merged"] = spokenOf(live, merged, sent)
	}
	text, err := json.Marshal(what)
	row.essence = sha256.Sum256(text)
	return err
}

// sealedSecret is the manifest of a Secret, what there is and what would be, with
// words in the place of values. The words say which values would change.
func sealedSecret(sent, live, merged map[string]any) (_, _, _ map[string]any) {
	sent, live, merged = copied(sent), copied(live), copied(merged)
	for _, field := range []string{"data", "stringData"} {
		replaceValues(sent[field], func(string, any) string { return "(value)" })
		before, after := copied(asMap(live[field])), copied(asMap(merged[field]))
		replaceValues(live[field], func(key string, value any) string { return unlessSame(value, after[key], "(before)") })
		replaceValues(merged[field], func(key string, value any) string { return unlessSame(value, before[key], "(after)") })
		for _, fields := range []map[string]any{sent, live, merged} {
			if _, has := fields[field]; has && asMap(fields[field]) == nil {
				fields[field] = "(no map)" // the API server refuses it
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

// replaceValues puts words in the place of the values of a map.
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

// spokenOf is what two objects have under the keys of a third, or differ in.
// Lists are taken whole.
func spokenOf(live, merged, sent map[string]any) (ofLive, ofMerged map[string]any) {
	ofLive, ofMerged = map[string]any{}, map[string]any{}
	for key := range sent {
		before, both := live[key].(map[string]any)
		after, all := merged[key].(map[string]any)
		inner, deep := sent[key].(map[string]any)
		if both && all && deep {
			ofLive[key], ofMerged[key] = spokenOf(before, after, inner)
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
