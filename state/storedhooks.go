package state

import (
	"encoding/json"
	"fmt"

	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/ordering"
)

// storeHooks encodes the manifests of the hooks in the order of the stream.
func (r *Revision) storeHooks() ([]storedResource, error) {
	var out []storedResource
	for _, hook := range r.Hooks {
		text, err := json.Marshal(hook.Object)
		if err != nil {
			return nil, fmt.Errorf("hook %s: %w", hook.ID, err)
		}
		out = append(out, storedResource{Object: text, Chart: hook.Chart})
	}
	return out, nil
}

// restoreHooks decodes them.
func restoreHooks(stored []storedResource) ([]ordering.Resource, error) {
	var out []ordering.Resource
	for i, s := range stored {
		hook, err := s.resource()
		if err != nil {
			return nil, fmt.Errorf("hook %d%w", i, err)
		}
		out = append(out, hook)
	}
	return out, nil
}

// hooks returns the hooks of the revision. Those that Helm drops were
// reported when it was applied.
func (r *Revision) hooks() hooks.Hooks {
	all, _ := hooks.Read(r.Hooks)
	return all
}
