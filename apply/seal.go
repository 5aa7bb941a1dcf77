package apply

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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

// seal keeps what a row is about before its Secrets are masked. What would come
// of a PATCH counts where there is a live object to change; of a new one the
// server draws lots for some fields.
func (r *rehearsal) seal(i int, row *Row) error {
	what := map[string]any{"sent": r.sent(i).Object}
	if row.Live != nil {
		what["live"] = row.Live.Object
	}
	if row.Merged != nil && (row.Action == WillUpdate || row.Action == WillAdopt) {
		what["merged"] = row.Merged.Object
	}
	text, err := json.Marshal(what)
	row.essence = sha256.Sum256(text)
	return err
}
