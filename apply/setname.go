package apply

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
)

// nameSets gives a function that names an apply set by its parent, as far as
// that is found, else by its id. It looks for each set once.
func (a Applier) nameSets(ctx context.Context) func(set, namespace string) string {
	var mu sync.Mutex
	names := map[string]string{}
	return func(set, namespace string) string {
		mu.Lock()
		defer mu.Unlock()
		if names[set] == "" {
			names[set] = a.nameSet(ctx, set, namespace)
		}
		return names[set]
	}
}

// nameSet looks for the parent of a set where it is likely to be: among the
// kinds that ordapply and kubectl know, in the namespace of one of the members,
// then in all. What may not be read is passed over.
func (a Applier) nameSet(ctx context.Context, set, namespace string) string {
	query := Query{Labels: applyset.IDLabel + "=" + set, Metadata: true}
	for _, place := range []string{namespace, ""} {
		for _, gvk := range []schema.GroupVersionKind{
			{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ConfigMap"},
			{Group: "ordapply.dev", Version: "v1", Kind: "ApplySet"},
		} {
			kind, served := a.Cluster.Kind(gvk)
			if !served {
				continue
			}
			if found, err := a.Cluster.List(ctx, kind, place, query); err == nil && len(found) > 0 {
				found[0].SetGroupVersionKind(gvk)
				return Meta(found[0]).ID.String()
			}
		}
	}
	return set
}
