package state

import (
	"cmp"
	"context"
	"errors"
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

// goingOrGone reports whether a Namespace is being deleted or not there, as far
// as that may be read.
func goingOrGone(ctx context.Context, cluster Cluster, name string) bool {
	live, err := cluster.Get(ctx, namespaceKind(), "", name)
	return apierrors.IsNotFound(err) || err == nil && live.GetDeletionTimestamp() != nil
}

func namespaceKind() apply.Kind {
	return apply.Kind{Resource: corev1.SchemeGroupVersion.WithResource("namespaces")}
}

// awaitGone waits until a Namespace that is being deleted is gone, at most so
// long; 0 is five minutes, less is for ever. Then the error is an *apply.TimeoutError.
func awaitGone(ctx context.Context, cluster Cluster, name string, limit time.Duration) error {
	waiting, cancel := context.WithCancel(ctx)
	if limit >= 0 {
		limit = cmp.Or(limit, 5*time.Minute)
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	last := "waiting until it is gone"
	for {
		live, err := cluster.Get(waiting, namespaceKind(), "", name)
		if apply.IsGone(err) || err == nil && live.GetDeletionTimestamp() == nil {
			return nil
		}
		if err == nil {
			last = "waiting until it is gone" + cmp.Or(apply.HeldBy(live), "; see what holds it (kubectl describe namespace "+name+")")
		}
		select {
		case <-time.After(time.Second):
		case <-waiting.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("namespace %q, in which the apply set is kept, is being deleted: %w", name, &apply.TimeoutError{After: limit, Scope: "wave", Last: last, Deletion: true})
		}
	}
}

// overtime is the summary of a run that such a wait has ended, or some other
// error.
func overtime(err error) apply.Summary {
	_, late := errors.AsType[*apply.TimeoutError](err)
	return apply.Summary{OutOfTime: late}
}
