package state

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
)

// ClusterID is what tells one cluster from every other: the uid of its
// kube-system namespace. It is "" for whoever may not read that.
func ClusterID(ctx context.Context, cluster apply.Cluster) (string, error) {
	namespaces := apply.Kind{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}
	live, err := cluster.Get(ctx, namespaces, "", "kube-system")
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("find out which cluster this is (uid of namespace kube-system): %w", err)
	}
	return string(live.GetUID()), nil
}
