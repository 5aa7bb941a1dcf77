package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/ordering"
)

// sealedHook is a hook of a plan file: a digest of its manifest. Of a Secret it holds
// which keys there are, and nothing that is made of their values.
type sealedHook struct {
	planID
	Seal string `json:"seal"`
}

// sealedHooks are those of a stream, in its order, which is a part of their own.
func sealedHooks(all []ordering.Resource) []sealedHook {
	var out []sealedHook
	for _, hook := range all {
		text, err := json.Marshal(withoutValues(hook))
		if err != nil { // it was read from JSON or YAML
			panic(err)
		}
		sum := sha256.Sum256(text)
		out = append(out, sealedHook{idInJSON(hook.ID), base64.RawURLEncoding.EncodeToString(sum[:])})
	}
	return out
}

// withoutValues is a manifest in which the values of a Secret are left out.
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

// checkHooks refuses hooks that are not those that were planned.
func (file *planFile) checkHooks(now []ordering.Resource) error {
	if slices.Equal(file.Hooks, sealedHooks(now)) {
		return nil
	}
	return errors.New("the hooks in the manifests are not what they were when the plan was made: nothing was applied, plan again" + firstMoved(file.Hooks, sealedHooks(now)))
}

// firstMoved names the first hook that differs.
func firstMoved(was, is []sealedHook) string {
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(was):
			return fmt.Sprintf(" (%s was not planned)", is[i].id())
		case i >= len(is):
			return fmt.Sprintf(" (%s is not there)", was[i].id())
		case was[i] != is[i]:
			return fmt.Sprintf(" (%s)", is[i].id())
		}
	}
	return ""
}
