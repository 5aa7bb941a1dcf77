package history

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// revisionIdentity decides whether two revisions of one cluster are the same. A change
// of its encoding gives each set a new revision after an update of ordapply, and makes
// a rollback go back to the deployed content.
type revisionIdentity struct {
	Waves     [][]storedID     `json:"waves"`
	Resources []storedResource `json:"resources"`
	Options   storedOptions    `json:"options"`
	OrderFile string           `json:"orderFile,omitempty"`
	Hooks     []storedResource `json:"hooks,omitempty"`
}

// digest returns a hash of the revision's content. Two revisions with the
// same digest apply the same. It does not depend on the sources of the
// manifests.
func (r *Revision) digest(resources []storedResource) (string, error) {
	id := revisionIdentity{Resources: resources, Options: storeOptions(r.Options), OrderFile: r.OrderFile}
	var err error
	if id.Hooks, err = r.storeHooks(); err != nil {
		return "", err
	}
	id.Waves = make([][]storedID, len(r.Plan.Waves))
	for _, step := range r.Plan.Steps {
		id.Waves[step.Wave] = append(id.Waves[step.Wave], storedID(step.ID))
	}
	text, err := json.Marshal(id)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
