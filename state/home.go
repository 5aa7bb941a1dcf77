package state

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// The home of a set is the namespace of its Lease and its history. It is the
// namespace of its parent; a cluster-scoped parent names it in an annotation,
// which is written once, so that all runs on the set use the same Lease.

// recordsNamespaceAnnotation is that annotation.
const recordsNamespaceAnnotation = "ordapply.dev/home"

// RecordsNamespace returns the namespace in which a set with a cluster-scoped parent
// keeps its Lease and its history; "" when there is no such set yet, or it does not
// say so.
func RecordsNamespace(ctx context.Context, cluster Cluster, gvk schema.GroupVersionKind, id object.ID) (string, error) {
	kind, _ := cluster.Kind(gvk)
	live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
	if kube.IsGone(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the parent of the apply set: %w", err)
	}
	return live.GetAnnotations()[recordsNamespaceAnnotation], nil
}

// claimRecordsNamespace gives a set with a cluster-scoped parent a home, if it has none,
// and returns the home it has then: that of another run which was first, for
// example. Each home has its own field manager, so that concurrent claims
// conflict and only one succeeds. A create would do the same, but RBAC cannot
// restrict create to a single name.
func (s *Set) claimRecordsNamespace(ctx context.Context, home string) (string, error) {
	claim := &unstructured.Unstructured{}
	claim.SetGroupVersionKind(schema.GroupVersionKind{Group: s.Parent.ID.Group, Version: s.version, Kind: s.Parent.ID.Kind})
	claim.SetName(s.Parent.ID.Name)
	claim.SetAnnotations(map[string]string{recordsNamespaceAnnotation: home})
	options := kube.PatchOptions{Manager: s.Parent.Manager("ordapply") + "@" + home}
	for n := 1; ; n++ {
		live, err := s.cluster.Get(ctx, s.kind, "", s.Parent.ID.Name)
		switch {
		case kube.IsGone(err):
			_, err = s.cluster.Apply(ctx, s.kind, claim, options)
		case err == nil && live.GetAnnotations()[recordsNamespaceAnnotation] != "":
			return live.GetAnnotations()[recordsNamespaceAnnotation], nil
		case err == nil:
			versioned := claim.DeepCopy()
			versioned.SetResourceVersion(live.GetResourceVersion())
			_, err = s.cluster.Apply(ctx, s.kind, versioned, options)
		}
		switch {
		case err == nil:
			return home, nil
		case !apierrors.IsConflict(err) || n == claimAttempts:
			return "", s.claimError(live, home, err)
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(time.Duration(n) * 100 * time.Millisecond):
		}
	}
}

// claimAttempts bounds the attempts of claimRecordsNamespace while others change the
// parent.
const claimAttempts = 8

// claimError returns why a set got no home. Where its annotation exists and is
// empty, another field manager owns it and no run can set it; the error says
// what to do.
func (s *Set) claimError(live *unstructured.Unstructured, home string, err error) error {
	err = fmt.Errorf("write the parent of apply set %s: %w", s.Parent.ID, err)
	if live == nil {
		return err
	}
	if value, there := live.GetAnnotations()[recordsNamespaceAnnotation]; there && value == "" {
		resource := s.kind.Resource.GroupResource()
		err = fmt.Errorf("%w; its annotation %s is empty and owned by another field manager: set it to the namespace of the set's Lease and history (kubectl annotate %s %s %s=%s --overwrite), then run this again",
			err, recordsNamespaceAnnotation, resource, s.Parent.ID.Name, recordsNamespaceAnnotation, home)
	}
	return err
}

// checkRecordsNamespace returns an error when a set's home is not the one whose lock this
// run holds.
func (s *Set) checkRecordsNamespace(home string) error {
	if s.recordsNamespace == "" || s.recordsNamespace == home {
		return nil
	}
	return fmt.Errorf("apply set %s was created in the meantime and is stored in namespace %q, not in %q: run this again", s.Parent.ID, s.recordsNamespace, home)
}

// acquireInRecordsNamespace takes the lock in the namespace of the set's records.
func (r *Run) acquireInRecordsNamespace(ctx context.Context) (context.Context, func(), error) {
	for {
		held, release, err := r.acquireLock(ctx)
		if err != nil || r.Parent.Namespace != "" {
			return held, release, err
		}
		set, err := Open(held, r.Cluster, r.Kind, r.Parent, r.TakeOver)
		home := r.Namespace
		if err == nil {
			home, err = set.claimRecordsNamespace(held, r.Namespace)
		}
		if err == nil && home == r.Namespace {
			return held, release, nil
		}
		release()
		if err != nil {
			return nil, nil, err
		}
		r.Namespace = home
	}
}

// acquireLock takes the lock in the namespace of the records as far as it is known. If
// that Namespace is in the stream and does not exist yet, it is applied first: by then
// all other checks have passed.
func (r *Run) acquireLock(ctx context.Context) (context.Context, func(), error) {
	lock := Lock{Cluster: r.Cluster, Lease: LeaseOf(r.Parent, r.Namespace), OnWaiting: r.OnWaiting}
	held, release, err := lock.Acquire(ctx, r.LockTimeout)
	if missingNamespace(err) == "" && !isNamespaceTerminating(err) {
		return held, release, err
	}
	id := object.ID{Kind: "Namespace", Name: r.Namespace}
	if _, ours := r.Stream.Objects[id]; !ours {
		return nil, nil, r.recordsNamespaceError(isNamespaceTerminating(err))
	}
	if err := r.Applier.MembershipErrors(ctx, r.Plan, r.Stream.Objects); err != nil {
		return nil, nil, err
	}
	if err := r.check(ctx); err != nil {
		return nil, nil, err
	}
	if isNamespaceTerminating(err) {
		if err := awaitGone(ctx, r.Cluster, r.Namespace, r.Applier.WaveTimeout); err != nil {
			return nil, nil, err
		}
	}
	if err := r.Applier.Send(ctx, r.Stream.Objects[id]); err != nil {
		return nil, nil, fmt.Errorf("apply %s, which holds the apply set: %w", id, err)
	}
	r.Applier.Sent = []object.ID{id}
	return lock.Acquire(ctx, r.LockTimeout)
}

// recordsNamespaceError returns the error for a set whose home Namespace does not exist or
// is terminating.
func (r Run) recordsNamespaceError(going bool) error {
	if going {
		return fmt.Errorf("namespace %q, which holds apply set %s, is being deleted: wait until it is gone, then recreate it or add it to the stream", r.Namespace, r.Parent)
	}
	return fmt.Errorf("namespace %q, which is to hold apply set %s, does not exist and is not in the stream: create it, add it to the stream, or name another with -n", r.Namespace, r.Parent)
}

// checkRecordsNamespace returns an error when the set's home Namespace can be read, and is
// missing or terminating.
func (r Run) checkRecordsNamespace(ctx context.Context) error {
	if _, ours := r.Stream.Objects[object.ID{Kind: "Namespace", Name: r.Namespace}]; ours {
		return nil
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	kind, _ := r.Cluster.Kind(gvk)
	live, err := r.Cluster.Get(ctx, kind, "", r.Namespace)
	going := err == nil && live.GetDeletionTimestamp() != nil
	if going || apierrors.IsNotFound(err) {
		return r.recordsNamespaceError(going)
	}
	return nil
}
