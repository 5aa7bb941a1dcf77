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
	"github.com/ordapply/ordapply/kube"
)

// isNamespaceTerminating reports whether an error is the refusal to create something in a
// terminating Namespace. No run can take a lock there.
func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// isTerminating reports whether a Namespace is terminating, if it can be read.
func isTerminating(ctx context.Context, cluster Cluster, name string) bool {
	live, err := cluster.Get(ctx, namespaceKind(), "", name)
	return err == nil && live.GetDeletionTimestamp() != nil
}

// isTerminatingOrGone reports whether a Namespace is terminating or does not exist,
// if it can be read.
func isTerminatingOrGone(ctx context.Context, cluster Cluster, name string) bool {
	live, err := cluster.Get(ctx, namespaceKind(), "", name)
	return apierrors.IsNotFound(err) || err == nil && live.GetDeletionTimestamp() != nil
}

func namespaceKind() kube.Kind {
	return kube.Kind{Resource: corev1.SchemeGroupVersion.WithResource("namespaces")}
}

// awaitGone waits until a terminating Namespace is gone, at most limit: 0 is
// five minutes, negative is no limit. When that expires, the error is an
// *apply.TimeoutError.
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
		if kube.IsGone(err) || err == nil && live.GetDeletionTimestamp() == nil {
			return nil
		}
		if err == nil {
			last = "waiting until it is gone" + cmp.Or(kube.DeletionBlockers(live), "; find out what blocks it (kubectl describe namespace "+name+")")
		}
		select {
		case <-time.After(time.Second):
		case <-waiting.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("namespace %q, which holds the apply set, is being deleted: %w", name, &apply.TimeoutError{After: limit, Scope: "wave", Last: last, Deletion: true})
		}
	}
}

// timeoutSummary returns the summary of a run that ended with the error of such a
// wait, or any other error.
func timeoutSummary(err error) apply.Summary {
	_, late := errors.AsType[*apply.TimeoutError](err)
	return apply.Summary{OutOfTime: late}
}
