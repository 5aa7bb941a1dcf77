package history

import (
	"crypto/sha256"
	"encoding/base64"
)

// digest returns a hash of the revision's content. Two revisions with the
// same digest apply the same. It does not depend on the sources of the
// manifests. A change of what it hashes gives each set a new revision after an update of
// ordapply, and makes a rollback go back to the deployed content.
func (r *Revision) digest() (string, error) {
	waves := make([][]storedID, len(r.Plan.Waves))
	for _, step := range r.Plan.Steps {
		waves[step.Wave] = append(waves[step.Wave], storedID(step.ID))
	}
	sum := sha256.New()
	err := writeObject(sum, func(o *jsonObject) {
		o.name("waves")
		writeItems(o, waves, func(ids []storedID) { writeItems(o, ids, func(id storedID) { o.value(id) }) })
		r.writeResources(o)
		o.field("options", storeOptions(r.Options))
		o.fieldIf(r.OrderFile != "", "orderFile", r.OrderFile)
		r.writeHooks(o)
	})
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), err
}
