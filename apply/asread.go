package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
)

// The first PATCH of an object that was read has that object's uid and
// resourceVersion as precondition. A PATCH that is delayed until another run
// holds the lock and has written the object then changes nothing. A
// controller may have written the object too: after a conflict the PATCH is
// sent once more without the precondition, if this run may still write.
// PATCHes that are sent again for other reasons have no precondition.

// sendFirst sends the first PATCH of a step.
func (r *run) sendFirst(i int) {
	q := r.requestOf(opPatch, i)
	if !r.applier.DryRun {
		q.precondition = r.steps[i].before
	}
	r.expectAnswer(i)
	r.submit(q)
}

// patchWithPrecondition sends a PATCH with the uid and resourceVersion of the object
// that was read. After a conflict it sends it again without them.
func (a Applier) patchWithPrecondition(ctx context.Context, q request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if q.precondition.uid == "" || q.precondition.version == "" {
		return a.patch(ctx, q.kind, sent, q.options)
	}
	sent.SetUID(types.UID(q.precondition.uid))
	sent.SetResourceVersion(q.precondition.version)
	live, err := a.patch(ctx, q.kind, sent, q.options)
	if err == nil || !apierrors.IsConflict(err) || kubeerr.IsFieldConflict(err) || kubeerr.IsDenied(err) {
		return live, err
	}
	if err := a.recheckMembership(ctx, q); err != nil {
		return nil, err
	}
	if err := kube.MayWrite(ctx); err != nil {
		return nil, err
	}
	sent.SetUID("")
	sent.SetResourceVersion("")
	return a.patch(ctx, q.kind, sent, q.options)
}

// recheckMembership returns an error when an object that was changed since it was
// read may not be written: the name may now belong to another object, which
// --adopt=never leaves alone. Membership of another set is left to the API
// server's conflict detection.
func (a Applier) recheckMembership(ctx context.Context, q request) error {
	if a.Membership.Set == "" || a.Membership.Adopt != AdoptNever {
		return nil
	}
	live, err := a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
	if kubeerr.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.Membership.membershipError(live, a.nameSets(ctx))
}
