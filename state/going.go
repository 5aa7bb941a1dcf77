package state

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply"
)

// isGoing recognises the refusal to create something in a Namespace that is
// being deleted. Nobody can take a lock there.
func isGoing(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// beingDeleted tells whether a Namespace is, as far as one may know.
func beingDeleted(ctx context.Context, cluster Cluster, name string) bool {
	live, err := cluster.Get(ctx, namespaceKind(), "", name)
	return err == nil && live.GetDeletionTimestamp() != nil
}

func namespaceKind() apply.Kind {
	return apply.Kind{Resource: corev1.SchemeGroupVersion.WithResource("namespaces")}
}

// awaitGone waits until a Namespace that is being deleted is gone, at most so
// long; 0 is five minutes.
func awaitGone(ctx context.Context, cluster Cluster, name string, limit time.Duration) error {
	if limit <= 0 {
		limit = 5 * time.Minute
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		live, err := cluster.Get(waiting, namespaceKind(), "", name)
		if apierrors.IsNotFound(err) || err == nil && live.GetDeletionTimestamp() == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-waiting.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("namespace %q, in which the apply set is kept, is being deleted, and was not gone after %s: see what holds it (kubectl describe namespace %s)", name, limit, name)
		}
	}
}
