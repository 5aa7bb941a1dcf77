package apply

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// MakeNamespace creates NewNamespace, unless it exists or the plan contains it. Run does so
// itself; a larger run may need it earlier.
func (a Applier) MakeNamespace(ctx context.Context, plan *ordering.Plan) error {
	if a.NewNamespace == "" || plan.Positions().HasNamespace(a.NewNamespace) || a.DryRun {
		return nil
	}
	kind := kube.NamespaceKind()
	if _, err := a.Cluster.Get(ctx, kind, "", a.NewNamespace); !fault.IsMissing(err) {
		return err
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(a.NewNamespace)
	if _, err := a.Cluster.Apply(ctx, kind, namespace, kube.PatchOptions{Manager: a.Manager}); err != nil {
		return fmt.Errorf("create namespace %q: %w", a.NewNamespace, fault.Explain(err))
	}
	return nil
}

// NamespacePermissions returns the permissions for creating a namespace that may exist.
func NamespacePermissions(name string) kube.Permissions {
	needs := func(verb string) kube.Permission {
		return kube.Permission{Verb: verb, Resource: kube.NamespaceKind().Resource, Name: name}
	}
	return kube.Permissions{Required: []kube.Permission{needs("create"), needs("get")}, Optional: []kube.Permission{needs("patch")}}
}

// awaitNamespace makes a step wait for a Namespace that neither the cluster nor the stream
// has: an operator may create it, as it may bring a kind, and it has the same time. It
// reports false when there is no such Namespace, or its time is over.
func (r *run) awaitNamespace(i int, missing string, answer reply, pause time.Duration) bool {
	s := &r.steps[i]
	if missing == "" || r.byID.HasNamespace(missing) || r.applier.DryRun || s.Last(pause, r.namespaceLimit(i)) {
		return false
	}
	s.Retry(r.Ctx(), "apply "+s.ID.String(), answer.err, pause)
	r.wait(i, event.Applying, event.WaitExternal, fmt.Sprintf("namespace %q does not exist yet", missing))
	r.endRequest(i)
	r.After(pause, func() {
		if !r.steps[i].state.Final() {
			r.invalidateReads()
			r.requireFreshRead(i)
			r.submit(i, answer.Request)
		}
	})
	return true
}

// namespaceLimit returns how long a step waits for its Namespace: its own timeout bounds
// this wait too.
func (r *run) namespaceLimit(i int) time.Duration {
	if own := r.steps[i].ownTimeout; own > 0 {
		return own
	}
	return r.applier.KindTimeout
}

// isAwaitingNamespace reports whether a step waits for its Namespace, which is not in the
// stream.
func (r *run) isAwaitingNamespace(i int) bool {
	s := &r.steps[i]
	missing := fault.MissingNamespace(s.Cause)
	return s.state == event.Applying && !s.requestPending && missing != "" && !r.byID.HasNamespace(missing)
}
