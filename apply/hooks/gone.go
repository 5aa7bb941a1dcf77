package hooks

import (
	"context"
	"slices"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
)

// possible returns the hooks that can run, and reports the others as skipped: the run that
// deletes a Namespace, or one before it, leaves no place for a hook of that deletion. An
// apply creates the Namespaces of its hooks, so that one that is missing is an error.
func (r *hookRun) possible(ctx context.Context, list []hook.Hook) []hook.Hook {
	if r.event != hook.PreDelete && r.event != hook.PostDelete {
		return list
	}
	missing := map[string]string{} // why, by namespace
	for _, hook := range list {
		if _, known := missing[hook.Namespace]; !known && hook.Namespace != "" {
			missing[hook.Namespace] = whyMissing(ctx, r.Applier.Cluster, hook.Namespace)
		}
		if hook.IsNamespace() {
			missing[hook.Name] = "" // a hook creates it
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(hook hook.Hook) bool {
		why := missing[hook.Namespace]
		if why != "" && r.Events != nil {
			r.Events(event.Event{Time: time.Now(), Op: event.OpApply, ID: hook.ID, Hook: &event.Hook{Event: string(r.event)}, State: event.Skipped, Detail: why})
		}
		return why != ""
	})
}

// whyMissing returns why nothing can be created in a namespace; "" if something can, or if
// that is not known.
func whyMissing(ctx context.Context, cluster kube.Cluster, namespace string) string {
	live, err := cluster.Get(ctx, kube.NamespaceKind(), "", namespace)
	switch {
	case kube.IsGone(err):
		return "its Namespace does not exist"
	case err == nil && live.GetDeletionTimestamp() != nil:
		return "its Namespace is being deleted"
	}
	return ""
}
