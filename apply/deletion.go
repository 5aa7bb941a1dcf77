package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
)

// The API server accepts PATCHes of a terminating object with code 200 and
// then deletes it. Such an answer is no success: the object must be gone and
// be applied again.

// awaitDeletion waits until a terminating object is gone and then applies it
// again. A terminating CRD fails the step instead: it deletes all its custom
// resources, which is for a person to decide (k8sconnect ADR-007, case 4).
func (r *run) awaitDeletion(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	if len(kube.DefinedKinds(live)) > 0 {
		r.fail(i, event.Failed, write.CRDTerminating(live))
		return
	}
	s.phase = awaitingGone
	r.wait(i, event.Applying, event.WaitDeletion, "the old object is being deleted"+kube.DeletionBlockers(live)+"; the new one is applied when it is gone")
	r.watches.Follow(i)
	r.After(loop.PollEvery, func() { r.readAgain(i) }) // an open watch may have reported the deletion already
}

// readTerminating reads an object that the API server reported as terminating.
func (r *run) readTerminating(i int) {
	s := &r.steps[i]
	s.phase, s.applied = readingOld, request.Identity{}
	r.wait(i, event.Applying, event.WaitDeletion, "the old object is being deleted")
	r.send(request.Get, i)
}

// usedNamespaces returns the Namespaces that the stream uses and does not contain, in plan order, and
// their steps.
func (r *run) usedNamespaces() (names []string, members map[string][]int) {
	members = map[string][]int{}
	for i := range r.steps {
		name := r.steps[i].ID.Namespace
		if name == "" || r.byID.HasNamespace(name) {
			continue
		}
		if members[name] == nil {
			names = append(names, name)
		}
		members[name] = append(members[name], i)
	}
	return names, members
}

// liveNamespace is a Namespace as it was read.
type liveNamespace struct {
	live *unstructured.Unstructured
	err  error
}

// decides reports whether the Namespace need not be read again before the first write. One that is
// missing or terminating may exist by then.
func (n liveNamespace) decides() bool {
	return n.err == nil && n.live != nil && n.live.GetDeletionTimestamp() == nil || apierrors.IsForbidden(n.err)
}

// readNamespaces returns the requests that read the used Namespaces, for checkNamespaces.
func (r *run) readNamespaces() (requests []func(context.Context)) {
	if r.applier.DryRun {
		return nil
	}
	names, _ := r.usedNamespaces()
	r.namespaces = make(map[string]*liveNamespace, len(names))
	for _, name := range names {
		read := &liveNamespace{}
		r.namespaces[name] = read
		requests = append(requests, func(ctx context.Context) { *read = r.readNamespace(ctx, name) })
	}
	return requests
}

func (r *run) readNamespace(ctx context.Context, name string) liveNamespace {
	live, err := r.applier.Cluster.Get(ctx, kube.NamespaceKind(), "", name)
	return liveNamespace{live, err}
}

// checkNamespaces looks at the used Namespaces before anything is applied to them, and reads them unless
// that is done. Objects that are applied to a terminating Namespace seem to exist and are deleted with
// it.
func (r *run) checkNamespaces() {
	if r.applier.DryRun {
		return
	}
	names, members := r.usedNamespaces()
	for _, name := range names {
		known := r.namespaces[name]
		read := func(ctx context.Context) (liveNamespace, error) {
			if known != nil && known.decides() {
				return *known, nil
			}
			return r.readNamespace(ctx, name), nil
		}
		loop.Ask(&r.Loop, read, func(now liveNamespace, _ error) { r.handleNamespace(name, members[name], now.live, now.err) })
		for _, i := range members[name] {
			r.order.Hold(i)
		}
	}
}

// handleNamespace releases the steps in a Namespace, or fails them when the
// Namespace is terminating. A Namespace that does not exist or may not be
// read is found out by the first apply to it.
func (r *run) handleNamespace(name string, members []int, live *unstructured.Unstructured, err error) {
	going := err == nil && live.GetDeletionTimestamp() != nil
	for _, i := range members {
		if going && !r.steps[i].state.Final() {
			r.fail(i, event.Failed, &fault.NamespaceTerminatingError{Namespace: name, BlockedBy: kube.DeletionBlockers(live)})
		}
		r.release(i)
	}
}
