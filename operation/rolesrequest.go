package operation

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state/set"
)

// rolesRequest is the stream and plan for which Roles are printed.
type rolesRequest struct {
	stream *apply.Stream
	plan   *ordering.Plan
	kinds  kube.Kinds
	target *connect.Target // nil without a cluster
	scope  apply.Scope
}

// namespace returns the namespace of -n, where the records of a set are.
func (w rolesRequest) namespace() string {
	if w.target != nil && w.target.RecordsNamespace != "" {
		return w.target.RecordsNamespace
	}
	return w.scope.Namespace
}

// parent returns a set's parent; without a cluster it must be a Secret or
// ConfigMap.
func (w rolesRequest) parent(ctx context.Context, text string) (object.ID, kube.Kind, error) {
	if w.target != nil {
		gvk, id, err := connect.ParentOf(ctx, w.target, text)
		kind, _ := w.kinds(gvk)
		return id, kind, err
	}
	word, name, found := strings.Cut(text, "/")
	if !found {
		word, name = "secret", text
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		if id := (object.ID{Kind: kind, Namespace: w.scope.Namespace, Name: name}); input.IsKind(id, word) && name != "" {
			served, _ := kube.OwnKinds(schema.GroupVersionKind{Version: "v1", Kind: kind})
			return id, served, nil
		}
	}
	return object.ID{}, kube.Kind{}, usage.Errorf("--applyset=%s: without a cluster write NAME, secret/NAME or configmap/NAME", text)
}

// servedSetKinds returns the group-kinds that the set's parent lists and the cluster
// serves; empty without a cluster or permission to read the parent.
func (w rolesRequest) servedSetKinds(ctx context.Context, parent object.ID, kind kube.Kind) applyset.Parent {
	if w.target == nil {
		return applyset.Parent{ID: parent}
	}
	set, err := set.Open(ctx, w.target.Cluster, kind.Resource.GroupVersion().WithKind(parent.Kind), parent, true)
	if err != nil {
		return applyset.Parent{ID: parent}
	}
	set.Parent.Kinds = slices.DeleteFunc(set.Parent.Kinds, func(gk schema.GroupKind) bool {
		return len(w.target.Cluster.Versions(gk)) == 0
	})
	return set.Parent
}
