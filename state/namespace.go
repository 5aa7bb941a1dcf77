package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/set"
)

// isTerminating reports whether a Namespace is terminating, if it can be read.
func isTerminating(ctx context.Context, cluster kube.Cluster, name string) bool {
	live, err := cluster.Get(ctx, kube.NamespaceKind(), "", name)
	return err == nil && live.GetDeletionTimestamp() != nil
}

// awaitGone waits until a terminating Namespace is gone, at most limit: 0 is
// five minutes, negative is no limit. When that expires, the error is an
// *event.TimeoutError.
func awaitGone(ctx context.Context, cluster kube.Cluster, name string, limit time.Duration) error {
	waiting, cancel := context.WithCancel(ctx)
	if limit >= 0 {
		limit = cmp.Or(limit, 5*time.Minute)
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	last := "waiting until it is gone"
	for {
		live, err := cluster.Get(waiting, kube.NamespaceKind(), "", name)
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
			return fmt.Errorf("namespace %q, which holds the apply set, is being deleted: %w", name, &event.TimeoutError{After: limit, Scope: "wave", Last: last, Deletion: true})
		}
	}
}

// timeoutSummary returns the summary of a run that ended with the error of such a
// wait, or any other error.
func timeoutSummary(err error) event.Summary {
	_, late := errors.AsType[*event.TimeoutError](err)
	return event.Summary{OutOfTime: late}
}

// checkRecordsNamespace returns an error when the set's home Namespace can be read, and is
// missing or terminating.
func (r Run) checkRecordsNamespace(ctx context.Context, set *set.Set) error {
	if _, ours := r.Stream.Objects[object.ID{Kind: "Namespace", Name: r.Namespace}]; ours || r.Applier.NewNamespace == r.Namespace {
		return nil
	}
	live, err := r.Cluster.Get(ctx, kube.NamespaceKind(), "", r.Namespace)
	going := err == nil && live.GetDeletionTimestamp() != nil
	replaced := set.Home() != "" && r.mayReplaceHome()
	if going || apierrors.IsNotFound(err) && !replaced {
		return &homeError{set: r.Parent, home: r.Namespace, terminating: going, recorded: set.Home() != ""}
	}
	return nil
}
