package request

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/recreate"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/kube"
)

// Op is the operation of a request.
type Op int

// The operations.
const (
	Patch    Op = iota // server-side apply of the object
	Get                // read the live object, to see whether it still exists
	Recreate           // delete the live object, if the new one can be created, and return it as it was
	Repair             // claim the fields that block a PATCH, and send it again
	Join               // make the live object, which is as its manifest, a member of the run's set
	Migrate            // migrate the fields that previous managers own on the live object
)

// Request is a unit of work for a worker. It is self-contained: workers do
// not access the run's state.
type Request struct {
	Op           Op
	Kind         kube.Kind
	Object       *unstructured.Unstructured // as in the manifest
	Bodies       write.Stream               // builds the sent body
	Options      kube.PatchOptions
	Precondition Identity                   // for Patch: precondition, the object as it was read; zero: none
	Known        bool                       // for Patch: it is known whether the object exists
	Current      *unstructured.Unstructured // for Patch: the whole object as it was read, if it exists and the body depends on it
	Refusal      error                      // for Repair and Recreate: the error of the PATCH
	Completes    bool                       // the second half of a recreation: it is also sent while the run stops
	Seen         *unstructured.Unstructured // for Migrate: the object as it was last seen; nil: it is read
	Joining      *write.Joining             // for Join
	BeforePatch  bool                       // for Migrate: the manifest was not applied yet, so conflicts must be found first
}

// Answer is the result of a request.
type Answer struct {
	Live      *unstructured.Unstructured // for Recreate: as it was; nil for Migrate
	TakenFrom []string                   // for Migrate: the managers whose fields were taken over
	Agreeing  []string                   // for Patch: managers in conflict whose fields keep their values, and were taken
}

// Sender sends requests.
type Sender struct {
	Cluster   kube.Cluster
	Owner     write.Owner
	Manifests []*unstructured.Unstructured // of the run
}

// Send sends a request, and returns the answer. The error is the API server's, or says why
// nothing was sent, as recreate.Check's does.
func (s Sender) Send(ctx context.Context, q Request) (Answer, error) {
	switch q.Op {
	case Get:
		live, err := s.get(ctx, q)
		return Answer{Live: live}, err
	case Recreate:
		live, err := s.deleteForRecreation(ctx, q)
		return Answer{Live: live}, err
	case Migrate:
		return s.migrate(ctx, q)
	case Join:
		live, err := s.Cluster.Join(ctx, q.Kind, q.Joining.Live, s.Owner.Set, q.Joining.Entries, q.Options.Manager)
		return Answer{Live: live}, err
	}
	sent, err := s.body(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	if q.Op == Repair {
		live, err := s.unblock(ctx, q, sent)
		return Answer{Live: live}, err
	}
	return s.patchWithPrecondition(ctx, q, sent)
}

// deleteForRecreation deletes a live object that is then applied again, once it is proven
// that it can be. In a dry run it only proves that.
func (s Sender) deleteForRecreation(ctx context.Context, q Request) (*unstructured.Unstructured, error) {
	live, err := s.get(ctx, q)
	if err != nil {
		return nil, err
	}
	check := recreate.Check{Cluster: s.Cluster, Owner: s.Owner, Bodies: q.Bodies, Manifests: s.Manifests}
	err = check.Prove(ctx, recreate.Candidate{Kind: q.Kind, Manifest: q.Object, Live: live, Refusal: q.Refusal})
	if err != nil || q.Options.DryRun {
		return live, err
	}
	return live, s.Cluster.Delete(ctx, q.Kind, live, kube.DeleteOptions{Unchanged: true, Foreground: true}) // a Job that is created again must not meet the Pods of the old one
}

func (s Sender) get(ctx context.Context, q Request) (*unstructured.Unstructured, error) {
	return s.Cluster.Get(ctx, q.Kind, q.Object.GetNamespace(), q.Object.GetName())
}

// body returns the sent body. An object whose manifest leaves fields to other managers is read
// if it was not, to see which of them they own now. The PATCH then is for this very object: a
// new one gets all fields.
func (s Sender) body(ctx context.Context, q Request) (*unstructured.Unstructured, error) {
	if !q.Bodies.DependsOnLive(q.Object) {
		return q.Bodies.Body(q.Object)
	}
	live, err := q.Current, error(nil)
	if !q.Known {
		live, err = s.Cluster.Get(ctx, q.Kind, q.Object.GetNamespace(), q.Object.GetName())
	}
	if err != nil && !fault.IsMissing(err) {
		return nil, err
	}
	sent, err := q.Bodies.BodyFor(q.Object, live, s.Owner)
	if err == nil && live != nil {
		sent.SetUID(live.GetUID())
	}
	return sent, err
}

// The first PATCH of an object that was read has that object's uid and
// resourceVersion as precondition. A PATCH that is delayed until another run
// holds the lock and has written the object then changes nothing. A
// controller may have written the object too: after a conflict the PATCH is
// sent once more without the precondition, if its fence allows it.
// PATCHes that are sent again for other reasons have no precondition.

// patchWithPrecondition sends a PATCH with the uid and resourceVersion of the object
// that was read. After a conflict it sends it again without them.
func (s Sender) patchWithPrecondition(ctx context.Context, q Request, sent *unstructured.Unstructured) (Answer, error) {
	if q.Precondition.UID == "" || q.Precondition.Version == "" {
		return s.apply(ctx, q, sent)
	}
	sent.SetUID(types.UID(q.Precondition.UID))
	sent.SetResourceVersion(q.Precondition.Version)
	answer, err := s.apply(ctx, q, sent)
	if err == nil || !apierrors.IsConflict(err) || fault.IsFieldConflict(err) || fault.IsDenied(err) {
		return answer, err
	}
	if err := s.recheckMembership(ctx, q); err != nil {
		return Answer{}, err
	}
	q.Known = false // the read is outdated
	if sent, err = s.body(ctx, q); err != nil {
		return Answer{}, err
	}
	return s.apply(ctx, q, sent)
}

// recheckMembership returns an error when an object that was changed since it was
// read may not be written: the name may now belong to another object, which
// --adopt=never leaves alone. Membership of another set is left to the API
// server's conflict detection.
func (s Sender) recheckMembership(ctx context.Context, q Request) error {
	if s.Owner.Set == "" || s.Owner.Adopt != applyset.AdoptNever {
		return nil
	}
	live, err := s.get(ctx, q)
	if fault.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Owner.MembershipError(live, write.NewSetFinder(ctx, s.Cluster))
}

// Fields of other managers that keep a manifest from being applied are
// claimed first, by a PATCH of managedFields alone. The next apply then
// removes them and writes the manifest's in one request, so that the object
// is valid before and after.

// unblock claims the fields that block a PATCH and sends it again. In a dry
// run it returns the expected result.
func (s Sender) unblock(ctx context.Context, q Request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := s.Cluster.Get(ctx, q.Kind, sent.GetNamespace(), sent.GetName())
	if fault.IsMissing(err) {
		return nil, q.Refusal
	}
	if err != nil {
		return nil, err
	}
	blocked := write.FindBlockers(live, sent, q.Refusal, s.Owner)
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
	applied, err := write.Apply(ctx, s.Cluster, q.Kind, sent, q.Options)
	if err != nil {
		// A refusal changes nothing, the owners of fields included. If this fails, the object
		// has changed since or cannot be reached, and the claim does no harm.
		_ = s.Cluster.SetManagedFields(ctx, q.Kind, claimed, live.GetManagedFields(), s.Owner.Manager)
	}
	return applied, err
}
