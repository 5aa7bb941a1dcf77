package preview

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/kube/redact"
)

// Digest returns a digest of the row. It is equal for two rows with the same
// manifest, the same live object and the same result, as far as the manifest
// specifies their fields. No value of a Secret enters it in any form: a
// reader of the digest and the rest of the manifest could otherwise try out
// likely values. Of a Secret it covers the keys, which of them would change,
// and the version of the live object.
func (r Row) Digest() string {
	return base64.RawURLEncoding.EncodeToString(r.digest[:])
}

// setDigest records the digest's input before Secrets are masked. Of the live
// object and the result it takes only the fields that the manifest has or the row
// shows as changed, so that an autoscaler may change others in the meantime.
func (r *run) setDigest(i int, row *Row) error {
	sent := r.snapshot.Bodies.WithoutFingerprint(r.snapshot.Manifests[i]).Object
	what := map[string]any{}
	var live, merged map[string]any
	if row.Live != nil {
		live, merged = row.Live.Object, row.Live.Object
		if row.Merged != nil && (row.Action == ActionUpdate || row.Action == ActionAdopt) { // on creation the server generates some fields
			merged = row.Merged.Object
		}
	}
	if paths := r.snapshot.Bodies.LeftPaths(r.snapshot.Manifests[i]); len(paths) > 0 {
		sent, live, merged = withoutIgnored(paths, sent, live, merged)
	}
	isSecret := row.ID.Kind == "Secret" && row.ID.Group == ""
	if isSecret {
		sent, live, merged = redact.ForDigest(sent, live, merged)
	}
	if len(row.secrets) > 0 {
		sent, live, merged = wordsAt(row.secrets, sent, live, merged)
	}
	if isSecret || len(row.secrets) > 0 {
		if found := r.read[i].Live; found != nil && live != nil {
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

// withoutIgnored returns the objects without the fields that are left to other managers,
// so that these may change them in the meantime. Fields that the run would change stay
// in the live object and the result.
func withoutIgnored(paths []fields.Path, sent, live, merged map[string]any) (_, _, _ map[string]any) {
	without := func(obj map[string]any) map[string]any {
		return fields.Remove(paths, runtime.DeepCopyJSON(obj)).(map[string]any)
	}
	if live != nil && reflect.DeepEqual(fields.Values(paths, live), fields.Values(paths, merged)) {
		live, merged = without(live), without(merged)
	}
	return without(sent), live, merged
}

// specifiedFields returns the fields of two objects that a third has, or in which they differ.
// Lists are not descended into.
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
