package state

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// revisionIdentity decides whether two revisions of one cluster are the same. Its
// encoding is that of format v1 and does not change with the format:
// otherwise each set would get a new revision after an update of ordapply,
// and a rollback would go back to what is deployed.
type revisionIdentity struct {
	Waves     [][]idV1         `json:"waves"`
	Resources []storedResource `json:"resources"`
	Options   optionsV1        `json:"options"`
	OrderFile string           `json:"orderFile,omitempty"`
	Hooks     []storedResource `json:"hooks,omitempty"`
}

// digest returns a hash of the revision's content. Two revisions with the
// same digest apply the same. It does not depend on the sources of the
// manifests.
func (r *Revision) digest(resources []storedResource) (string, error) {
	id := revisionIdentity{Resources: resources, Options: optionsAsV1(r.Options), OrderFile: r.OrderFile}
	var err error
	if id.Hooks, err = r.storeHooks(); err != nil {
		return "", err
	}
	id.Waves = make([][]idV1, len(r.Plan.Waves))
	for _, step := range r.Plan.Steps {
		id.Waves[step.Wave] = append(id.Waves[step.Wave], idV1(step.ID))
	}
	text, err := json.Marshal(id)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// storedResource is a manifest as every format stores it.
type storedResource struct {
	Object      json.RawMessage `json:"object"`
	Chart       string          `json:"chart,omitempty"`
	Application string          `json:"application,omitempty"`
}

// storeResources encodes the manifests of the revision, sorted by ID.
func (r *Revision) storeResources() ([]storedResource, error) {
	var out []storedResource
	sorted := slices.SortedFunc(slices.Values(r.Resources), func(a, b ordering.Resource) int { return object.Compare(a.ID, b.ID) })
	for _, resource := range sorted {
		text, err := json.Marshal(resource.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", resource.ID, err)
		}
		stored := storedResource{Object: text, Chart: resource.Chart}
		if r.Options.ApplicationOf != nil {
			stored.Application = r.Options.ApplicationOf(resource.Meta)
		}
		out = append(out, stored)
	}
	return out, nil
}
