package operation

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// planFileHook is a hook of a plan file with a digest of its manifest. For
// Secrets the digest covers the keys only, nothing derived from the values.
type planFileHook struct {
	object.ID
	Digest string `json:"seal"`
}

// planFileHooks returns the hooks of a stream in order; the order is significant.
func planFileHooks(all []ordering.Resource) []planFileHook {
	var out []planFileHook
	for _, hook := range all {
		text, err := json.Marshal(withoutValues(hook))
		if err != nil { // it was read from JSON or YAML
			panic(err)
		}
		sum := sha256.Sum256(text)
		out = append(out, planFileHook{hook.ID, base64.RawURLEncoding.EncodeToString(sum[:])})
	}
	return out
}

// withoutValues returns a manifest; for a Secret, with keys instead of values.
func withoutValues(hook ordering.Resource) map[string]any {
	if hook.GroupKind() != "Secret" {
		return hook.Object
	}
	out := maps.Clone(hook.Object)
	for _, field := range []string{"data", "stringData"} {
		values, _ := out[field].(map[string]any)
		out[field] = slices.Sorted(maps.Keys(values))
	}
	return out
}

// CheckHooks returns an error if the hooks differ from the plan.
func (file *PlanFile) CheckHooks(now []ordering.Resource) error {
	if slices.Equal(file.Hooks, planFileHooks(now)) {
		return nil
	}
	return errors.New("the hooks in the manifests have changed since the plan was made: nothing was applied, plan again" + firstMoved(file.Hooks, planFileHooks(now)))
}

// firstMoved names the first hook that differs.
func firstMoved(was, is []planFileHook) string {
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(was):
			return fmt.Sprintf(" (%s was not planned)", is[i].ID)
		case i >= len(is):
			return fmt.Sprintf(" (%s is missing)", was[i].ID)
		case was[i] != is[i]:
			return fmt.Sprintf(" (%s)", is[i].ID)
		}
	}
	return ""
}
