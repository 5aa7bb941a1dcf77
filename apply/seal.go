package apply

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"reflect"
)

// Seal is the same for two rows exactly when they are of the same manifest and
// the same live object, as far as a manifest speaks of one, and say that the same
// becomes of it. It tells nothing about either; the salt, which is for one plan
// alone, keeps it from being looked up.
func (row Row) Seal(salt []byte) string {
	sum := hmac.New(sha256.New, salt)
	sum.Write(row.essence[:])
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// seal keeps what a row is about before its Secrets are masked: of what there is,
// and of what would come of a PATCH, no more than the manifest speaks of and the
// row shows as a change. An autoscaler may go on meanwhile.
func (r *rehearsal) seal(i int, row *Row) error {
	sent := r.sent(i).Object
	what := map[string]any{"sent": sent}
	if row.Live != nil {
		live, merged := row.Live.Object, row.Live.Object
		if row.Merged != nil && (row.Action == WillUpdate || row.Action == WillAdopt) { // of a new one the server draws lots for some fields
			merged = row.Merged.Object
		}
		what["live"], what["merged"] = spokenOf(live, merged, sent)
	}
	text, err := json.Marshal(what)
	row.essence = sha256.Sum256(text)
	return err
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
