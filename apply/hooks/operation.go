package hooks

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Distinguishing returns the resources of a stream that decide between an install and
// an upgrade.
func Distinguishing(resources []ordering.Resource) []ordering.Resource {
	return slices.DeleteFunc(slices.Clone(resources), func(r ordering.Resource) bool {
		return r.IsNamespace() || r.IsCRD()
	})
}

// OperationPermissions returns the permissions that OperationOf takes. LIST would make
// it cheaper; Find works without.
func OperationPermissions(resources []ordering.Resource, kinds kube.Kinds) kube.Permissions {
	var p kube.Permissions
	for _, r := range Distinguishing(resources) {
		if kind, served := kinds((&unstructured.Unstructured{Object: r.Object}).GroupVersionKind()); served {
			p.Required = append(p.Required, kube.Permission{Verb: "get", Resource: kind.Resource, Namespace: r.Namespace, Name: r.Name})
		}
	}
	return p
}

// OperationOf decides by the live objects of a stream whether applying it is
// an install or an upgrade, and returns a resource that made it an upgrade.
// Namespaces and CustomResourceDefinitions do not count: others create them, too.
func OperationOf(ctx context.Context, cluster kube.Cluster, stream *apply.Stream) (hook.Operation, object.ID, error) {
	var resources []ordering.Resource
	for _, r := range Distinguishing(stream.Resources) {
		if _, served := cluster.Kind(stream.Objects[r.ID].GroupVersionKind()); served { // otherwise it does not exist
			resources = append(resources, r)
		}
	}
	found, err := apply.Find(ctx, cluster, resources)
	if err != nil {
		return "", object.ID{}, fmt.Errorf("determine whether this is an install or an upgrade: %w", err)
	}
	for _, r := range resources {
		if found[r.ID] != nil {
			return hook.Upgrade, r.ID, nil
		}
	}
	return hook.Install, object.ID{}, nil
}
