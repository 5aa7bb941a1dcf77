package history

import (
	"context"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// OfOtherSets returns the resources and hooks of the newest revisions of other sets whose
// history is in the namespace of this one, or in one of these. A revision that cannot be
// read has none.
func (h History) OfOtherSets(ctx context.Context, namespaces []string) (map[object.ID]bool, error) {
	out := map[object.ID]bool{}
	if len(namespaces) == 0 {
		return out, nil
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(append(namespaces, h.namespace())))) {
		newest, err := NewestOfAll(ctx, h.Cluster, namespace)
		if err != nil {
			return nil, err
		}
		for set, e := range newest {
			if set == h.Parent.SetID() {
				continue
			}
			r, err := History{Cluster: h.Cluster, Parent: h.Parent, Namespace: namespace}.readListed(ctx, e)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				continue
			}
			for _, resource := range append(r.Resources, r.Hooks...) {
				out[resource.ID] = true
			}
		}
	}
	return out, nil
}
