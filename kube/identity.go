package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ClusterID identifies a cluster: the uid of its kube-system namespace. It is
// "", without an error, for users who may not read that.
func ClusterID(ctx context.Context, cluster Cluster) (string, error) {
	live, err := cluster.Get(ctx, NamespaceKind(), "", "kube-system")
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("identify the cluster (uid of namespace kube-system): %w", err)
	}
	return string(live.GetUID()), nil
}
