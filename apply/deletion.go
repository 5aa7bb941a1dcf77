package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// checkNamespaces reads the Namespaces that the stream uses and does not
// contain, before anything is applied to them. Objects that are applied to a
// terminating Namespace seem to exist and are deleted with it.
func (r *run) checkNamespaces() {
	kind, ok := r.applier.Cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if !ok || r.applier.DryRun {
		return
	}
	members := map[string][]int{}
	for i := range r.steps {
		name := r.steps[i].ID.Namespace
		if name == "" || r.byID.HasNamespace(name) {
			continue
		}
		if members[name] == nil {
			read := func(ctx context.Context) (*unstructured.Unstructured, error) {
				return r.applier.Cluster.Get(ctx, kind, "", name)
			}
			loop.Ask(&r.Loop, read, func(live *unstructured.Unstructured, err error) { r.handleNamespace(name, members[name], live, err) })
		}
		members[name] = append(members[name], i)
		r.order.Hold(i)
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
