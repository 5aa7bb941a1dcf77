// Package sending sends what a run asks of the API server about one resource: its PATCH, the
// PATCH that makes room for it, the migration of fields, and the deletion of what is to be
// created again.
//
//	sender := sending.Sender{Cluster: cluster, Owner: owner}
//	live, err := sender.Send(ctx, sending.Request{Op: sending.Patch, Kind: kind, Object: manifest, Bodies: bodies, Options: options})
package sending

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/internal/desired"
	"github.com/ordapply/ordapply/internal/ignorefields"
	"github.com/ordapply/ordapply/internal/invalid"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/internal/readiness"
	"github.com/ordapply/ordapply/kube"
)

// Op is the operation of a request.
type Op int

// The operations.
const (
	Patch   Op = iota // server-side apply of the object
	Get               // read the live object, to see whether it still exists
	Delete            // delete the live object, and return it as it was
	Repair            // claim the fields that block a PATCH, and send it again
	Migrate           // migrate the fields that previous managers own on the live object
)

// Request is a unit of work for a worker. It is self-contained: workers do
// not access the run's state.
type Request struct {
	Op              Op
	Kind            kube.Kind
	Object          *unstructured.Unstructured // as in the manifest
	Bodies          desired.Stream             // what it is sent as
	ImmutableFields []string                   // for Delete: the immutable fields because of which it is deleted
	Options         kube.PatchOptions
	Precondition    readiness.Identity // for Patch: precondition, the object as it was read; zero: none
	Refusal         error              // for Repair: the error of the PATCH
}

// Sender sends requests.
type Sender struct {
	Cluster kube.Cluster
	Owner   ownership.Owner
}

// RecreateError is the reason why an object is not deleted and created again.
type RecreateError struct{ error }

// Unwrap returns the reason.
func (e RecreateError) Unwrap() error { return e.error }

// Send sends a request, and returns the live object: for Delete, as it was. The error is
// that of the API server, or says why nothing was sent.
func (s Sender) Send(ctx context.Context, q Request) (*unstructured.Unstructured, error) {
	switch q.Op {
	case Get:
		return s.Cluster.Get(ctx, q.Kind, q.Object.GetNamespace(), q.Object.GetName())
	case Delete:
		live, err := s.Cluster.Get(ctx, q.Kind, q.Object.GetNamespace(), q.Object.GetName())
		if err != nil {
			return nil, err
		}
		if err := invalid.RecreateRefusal(s.Owner, q.Object, live, q.ImmutableFields); err != nil {
			return nil, RecreateError{err}
		}
		return live, s.Cluster.Delete(ctx, q.Kind, live, kube.DeleteOptions{Unchanged: true, Foreground: true}) // a Job that is created again must not meet the Pods of the old one
	case Migrate:
		live, err := s.Cluster.Get(ctx, q.Kind, q.Object.GetNamespace(), q.Object.GetName())
		if err != nil {
			return nil, err
		}
		return nil, s.Cluster.Migrate(ctx, q.Kind, live, s.Owner.PreviousManagersOf(live), q.Options.Manager)
	}
	sent, err := s.body(ctx, q)
	if err != nil {
		return nil, err
	}
	if q.Op == Repair {
		return s.unblock(ctx, q, sent)
	}
	return s.patchWithPrecondition(ctx, q, sent)
}

// body returns what is sent. An object whose manifest leaves fields to other managers is
// read first, to see which of them they own now. The PATCH then is for this very object:
// what is created again gets all fields.
func (s Sender) body(ctx context.Context, q Request) (*unstructured.Unstructured, error) {
	if len(ignorefields.Of(q.Object.GetAnnotations())) == 0 {
		return q.Bodies.Body(q.Object)
	}
	live, err := s.Cluster.Get(ctx, q.Kind, q.Object.GetNamespace(), q.Object.GetName())
	if err != nil && !kubeerr.IsMissing(err) {
		return nil, err
	}
	sent, err := q.Bodies.BodyFor(q.Object, live, s.Owner.ForeignFields)
	if err == nil && live != nil {
		sent.SetUID(live.GetUID())
	}
	return sent, err
}

// The first PATCH of an object that was read has that object's uid and
// resourceVersion as precondition. A PATCH that is delayed until another run
// holds the lock and has written the object then changes nothing. A
// controller may have written the object too: after a conflict the PATCH is
// sent once more without the precondition, if this run may still write.
// PATCHes that are sent again for other reasons have no precondition.

// patchWithPrecondition sends a PATCH with the uid and resourceVersion of the object
// that was read. After a conflict it sends it again without them.
func (s Sender) patchWithPrecondition(ctx context.Context, q Request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if q.Precondition.UID == "" || q.Precondition.Version == "" {
		return desired.Apply(ctx, s.Cluster, q.Kind, sent, q.Options)
	}
	sent.SetUID(types.UID(q.Precondition.UID))
	sent.SetResourceVersion(q.Precondition.Version)
	live, err := desired.Apply(ctx, s.Cluster, q.Kind, sent, q.Options)
	if err == nil || !apierrors.IsConflict(err) || kubeerr.IsFieldConflict(err) || kubeerr.IsDenied(err) {
		return live, err
	}
	if err := s.recheckMembership(ctx, q); err != nil {
		return nil, err
	}
	if err := kube.MayWrite(ctx); err != nil {
		return nil, err
	}
	if sent, err = s.body(ctx, q); err != nil {
		return nil, err
	}
	return desired.Apply(ctx, s.Cluster, q.Kind, sent, q.Options)
}

// recheckMembership returns an error when an object that was changed since it was
// read may not be written: the name may now belong to another object, which
// --adopt=never leaves alone. Membership of another set is left to the API
// server's conflict detection.
func (s Sender) recheckMembership(ctx context.Context, q Request) error {
	if s.Owner.Set == "" || s.Owner.Adopt != ownership.AdoptNever {
		return nil
	}
	live, err := s.Cluster.Get(ctx, q.Kind, q.Object.GetNamespace(), q.Object.GetName())
	if kubeerr.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Owner.MembershipError(live, ownership.NameSets(ctx, s.Cluster))
}

// Fields of other managers that keep a manifest from being applied are
// claimed first, by a PATCH of managedFields alone. The next apply then
// removes them and writes the manifest's in one request, so that the object
// is valid before and after.

// unblock claims the fields that block a PATCH and sends it again. In a dry
// run it returns the expected result.
func (s Sender) unblock(ctx context.Context, q Request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := s.Cluster.Get(ctx, q.Kind, sent.GetNamespace(), sent.GetName())
	if kubeerr.IsMissing(err) {
		return nil, q.Refusal
	}
	if err != nil {
		return nil, err
	}
	blocked := invalid.FindBlockers(live, sent, q.Refusal, s.Owner)
	switch {
	case blocked == nil:
		return nil, q.Refusal
	case !blocked.Removable(s.Owner.Force.From):
		return nil, blocked
	case q.Options.DryRun:
		return blocked.Removed(live, sent), nil
	}
	claimed, err := s.Cluster.Claim(ctx, q.Kind, live, blocked.Paths(), s.Owner.Manager)
	if err != nil {
		return nil, err
	}
	sent.SetUID(claimed.GetUID())
	sent.SetResourceVersion(claimed.GetResourceVersion())
	return desired.Apply(ctx, s.Cluster, q.Kind, sent, q.Options)
}
