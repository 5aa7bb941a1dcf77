package hookrun

import (
	"context"
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// OperationOf says by what the cluster has of a stream whether applying it is an
// install or an upgrade, and names a resource that made it an upgrade. Namespaces and
// CustomResourceDefinitions say nothing: others make them, too.
func OperationOf(ctx context.Context, cluster apply.Cluster, stream *apply.Stream) (hooks.Operation, object.ID, error) {
	var asked []ordering.Resource
	for _, r := range stream.Resources {
		switch r.GroupKind() {
		case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
			continue
		}
		if _, served := cluster.Kind(stream.Objects[r.ID].GroupVersionKind()); served { // else none is there
			asked = append(asked, r)
		}
	}
	found, err := apply.Find(ctx, cluster, asked)
	if err != nil {
		return "", object.ID{}, fmt.Errorf("find out whether this is an install or an upgrade: %w", err)
	}
	for _, r := range asked {
		if found[r.ID] != nil {
			return hooks.Upgrade, r.ID, nil
		}
	}
	return hooks.Install, object.ID{}, nil
}
