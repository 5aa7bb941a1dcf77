package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The first PATCH of an object that was read holds the uid and the resourceVersion
// that it was read with. One that is delayed on its way until another run has the
// lock, and has written the object, changes nothing then. A controller may have
// written the object as well: the PATCH is sent once more without them, if this run
// may still write. What is sent a second time for another reason holds none.

// sendFirst sends the first PATCH of a step.
func (r *run) sendFirst(i int) {
	q := r.requestOf(opPatch, i)
	if !r.a.DryRun {
		q.read = r.steps[i].before
	}
	r.expectAnswer(i)
	r.hand(q)
}

// patchAsRead sends a PATCH for an object as it was read, and, where that has changed
// since, for the object as it is.
func (a Applier) patchAsRead(ctx context.Context, q request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if q.read.uid == "" || q.read.version == "" {
		return a.patch(ctx, q.kind, sent, q.options)
	}
	sent.SetUID(types.UID(q.read.uid))
	sent.SetResourceVersion(q.read.version)
	live, err := a.patch(ctx, q.kind, sent, q.options)
	if err == nil || !apierrors.IsConflict(err) || fieldConflict(err) || isDenial(err) {
		return live, err
	}
	if err := a.mayStillTake(ctx, q); err != nil {
		return nil, err
	}
	if err := MayWrite(ctx); err != nil {
		return nil, err
	}
	sent.SetUID("")
	sent.SetResourceVersion("")
	return a.patch(ctx, q.kind, sent, q.options)
}

// mayStillTake says why an object that was changed since it was read may not be
// written: another may be there under its name, which --adopt=never leaves alone.
// That it belongs to another set the API server sees itself.
func (a Applier) mayStillTake(ctx context.Context, q request) error {
	if a.Membership.Set == "" || a.Membership.Adopt != AdoptNever {
		return nil
	}
	live, err := a.Cluster.Get(ctx, q.kind, q.obj.GetNamespace(), q.obj.GetName())
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.Membership.refuses(live, a.nameSets(ctx))
}
