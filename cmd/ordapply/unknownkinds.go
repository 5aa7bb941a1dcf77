package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// unknownKindNotes returns a note about kinds that are waited for though neither the
// cluster nor the stream defines them. A missing operator is thus reported
// before the first write, and not only when --kind-timeout has passed.
func (f *applyFlags) unknownKindNotes(j session) []string {
	if f.kindTimeout <= 0 || f.dryRun != "none" {
		return nil
	}
	provided := map[object.ID]bool{}
	for _, s := range j.plan.Steps {
		provided[s.ID] = len(s.ProvidedBy) > 0
	}
	var kinds []string
	waiting := 0
	for _, r := range j.stream.Resources {
		gvk := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		_, served := j.target.cluster.Kind(gvk)
		if planned, ok := provided[r.ID]; !ok || planned || served || object.IsNative(r.Group) || j.target.cluster.Unreadable(gvk.GroupVersion()) != nil {
			continue
		}
		waiting++
		if name := r.ID.GroupKind(); !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	if waiting == 0 {
		return nil
	}
	slices.Sort(kinds)
	return []string{fmt.Sprintf("neither the cluster nor the stream defines %s: %s up to %s for that, after other resources are applied; --kind-timeout=0 fails before anything is written",
		strings.Join(kinds, ", "), waitersOf(waiting), f.kindTimeout)}
}

func waitersOf(n int) string {
	if n == 1 {
		return "1 resource waits"
	}
	return plain.Count(n, "resource") + " wait"
}
