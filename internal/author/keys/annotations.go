// Package keys defines every ordapply.dev/ key that the programs of this
// module read or write, and the annotations of Helm's HIP-0025 that they read,
// with a validation of each value. Without it a misspelt key would silently
// have no effect.
//
//	for _, found := range keys.Check(metas) {
//		fmt.Println(metas[found.On[0]].ID, found.Message)
//	}
package keys

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/object"
)

// prefix is the prefix of our keys.
const prefix = "ordapply.dev/"

// Found is an error and the resources that have it.
type Found struct {
	Key     string // of the annotation or label
	Message string // one line: what is wrong, and what to do
	Remark  bool   // not an error: the annotation has no effect
	On      []int  // indices of the resources, in order
	// Also names another reporter, such as planner.Build.
	Also Reporter
	// Protects marks a key that keeps a resource from deletion, or nearly is one:
	// the author may have meant to keep the resource.
	Protects bool
}

// Check validates the annotations and labels of resources. Results are ordered
// by resource, then by key; the same error on several resources is one result.
func Check(metas []object.Meta) []Found {
	return gather(metas, checker{}.resource)
}

// CheckHooks finds the annotations that do nothing on Helm hooks that run around the
// plan. It adds to Check's results; all are remarks.
func CheckHooks(metas []object.Meta) []Found {
	return gather(metas, idleOnHook)
}

// gather merges the same result of several resources into one.
func gather(metas []object.Meta, of func(object.Meta) []Found) []Found {
	var found []Found
	at := map[string]int{}
	for i, m := range metas {
		for _, f := range of(m) {
			id := f.Key + "\n" + f.Message
			if known, ok := at[id]; ok {
				found[known].On = append(found[known].On, i)
				continue
			}
			at[id] = len(found)
			f.On = []int{i}
			found = append(found, f)
		}
	}
	return found
}

// Others names the other resources of a result, as the end of its message; ""
// if there are none.
func (f Found) Others(metas []object.Meta) string {
	names := plain.Sample(f.On[1:], 3, "%d more", func(i int) string { return metas[i].ID.String() })
	if len(names) == 0 {
		return ""
	}
	return "; also on " + strings.Join(names, ", ")
}

// checker caches the validation of values, since compiling a condition is slow
// and many resources may have the same one.
type checker map[[2]string]error

func (c checker) value(k *key, value string) error {
	at := [2]string{k.name, value}
	err, known := c[at]
	if !known {
		err = k.check(value)
		c[at] = err
	}
	return err
}

func (c checker) resource(m object.Meta) []Found {
	var found []Found
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		if f, faulty := c.annotation(key, m.Annotations); faulty {
			f.Key = key
			found = append(found, f)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		switch name, ours := strings.CutPrefix(key, prefix); {
		case !ours || slices.Contains(labels(), name):
		case known(name) != nil:
			found = append(found, Found{Key: key, Message: fmt.Sprintf("label %s has no effect: write it under annotations", key), Protects: name == lifecycle})
		default:
			found = append(found, unknown("label", key))
		}
	}
	return found
}

func (c checker) annotation(key string, all map[string]string) (Found, bool) {
	if alone, ok := readinessAlone(key, all); ok {
		return Found{Message: alone, Remark: true}, true
	}
	name, ours := strings.CutPrefix(key, prefix)
	k := known(name)
	if !ours {
		k = foreign(key)
	}
	switch {
	case ours && k == nil:
		return unknown("annotation", key), true
	case k == nil || k.check == nil:
		return Found{}, false
	}
	if err := c.value(k, all[key]); err != nil {
		return Found{Message: fmt.Sprintf("annotation %s: %s", key, err), Also: k.also, Protects: k.name == lifecycle}, true
	}
	return Found{}, false
}

// idleOnHook returns a remark for each annotation that has no effect on a Helm hook.
func idleOnHook(m object.Meta) []Found {
	var found []Found
	for _, name := range slices.Sorted(maps.Keys(m.Annotations)) {
		k := foreign(name)
		if own, ours := strings.CutPrefix(name, prefix); ours {
			k = known(own)
		}
		if k != nil && k.onHook != "" {
			found = append(found, Found{Key: name, Remark: true, Message: fmt.Sprintf("annotation %s has no effect on a hook: %s", name, k.insteadOn(m))})
		}
	}
	return found
}

// insteadOn is onHook for a hook of Helm or Argo CD.
func (k *key) insteadOn(m object.Meta) string {
	if !edges.IsArgoHook(m.Annotations) {
		return k.onHook
	}
	switch k.name {
	case lifecycle:
		return "argocd.argoproj.io/hook-delete-policy determines when it is deleted"
	case "wait":
		return "a sync waits until its hooks are healthy"
	case "depends-on", "provides":
		return "hooks run in the order of " + edges.SyncWave
	}
	return k.onHook
}

// unknown returns the result for an unknown key, with a suggestion.
func unknown(what, key string) Found {
	var written []string
	for _, k := range keys() {
		if k.use != live {
			written = append(written, k.name)
		}
	}
	name := strings.TrimPrefix(key, prefix)
	near := nearest.DidYouMean(name, written)
	return Found{
		Key:      key,
		Message:  fmt.Sprintf("unknown %s %s%s", what, key, strings.Replace(near, "mean ", "mean "+prefix, 1)),
		Protects: nearest.DidYouMean(name, []string{lifecycle}) != "",
	}
}
