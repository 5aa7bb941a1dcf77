package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
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
	sum := sha256.New()
	if err := json.NewEncoder(&withoutNewline{Writer: sum}).Encode(id); err != nil {
		return "", err
	}
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), nil
}

// withoutNewline drops the newline with which json.Encoder ends a value, so that a long value need
// not be in memory a second time, as json.Marshal returns it.
type withoutNewline struct{ io.Writer }

func (w *withoutNewline) Write(p []byte) (int, error) {
	_, err := w.Writer.Write(bytes.TrimSuffix(p, []byte("\n")))
	return len(p), err
}
