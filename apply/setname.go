package apply

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// nameSets returns a function that names an apply set by its parent object,
// or by its id if the parent is not found. It searches for each set once.
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

// nameSet searches for the parent of a set among the kinds that ordapply and
// kubectl use, first in the namespace of one of the members, then in all. It
// skips what may not be read.
func (a Applier) nameSet(ctx context.Context, set, namespace string) string {
	query := kube.Query{Labels: applyset.IDLabel + "=" + set, Metadata: true}
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
