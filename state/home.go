package state

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// The home of a set is the namespace of its Lease and its history. It is that of
// its parent; a cluster-scoped parent says it in an annotation, which is written
// once, so that all runs on the set meet at one Lease.

// homeAnnotation is that annotation.
const homeAnnotation = "ordapply.dev/home"

// Home is the namespace in which a set with a cluster-scoped parent keeps its
// Lease and its history; "" when there is no such set yet.
func Home(ctx context.Context, cluster Cluster, gvk schema.GroupVersionKind, id object.ID) (string, error) {
	kind, _ := cluster.Kind(gvk)
	live, err := cluster.Get(ctx, kind, id.Namespace, id.Name)
	if apply.IsGone(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the parent of the apply set: %w", err)
	}
	return live.GetAnnotations()[homeAnnotation], nil
}

// claimHome gives a set with a cluster-scoped parent a home, if it has none. It
// returns the one that it has then: another when another run was faster. That the
// slower one fails is the work of their managers: each home has one of its own, so
// that it conflicts with any other. A plain create would do the same, and no Role
// can allow that for a single name.
func (s *Set) claimHome(ctx context.Context, home string) (string, error) {
	claim := &unstructured.Unstructured{}
	claim.SetGroupVersionKind(schema.GroupVersionKind{Group: s.Parent.ID.Group, Version: s.version, Kind: s.Parent.ID.Kind})
	claim.SetName(s.Parent.ID.Name)
	claim.SetAnnotations(map[string]string{homeAnnotation: home})
	options := apply.PatchOptions{Manager: s.Parent.Manager("ordapply") + "@" + home}
	for n := 1; ; n++ {
		live, err := s.cluster.Get(ctx, s.kind, "", s.Parent.ID.Name)
		switch {
		case apply.IsGone(err):
			_, err = s.cluster.Apply(ctx, s.kind, claim, options)
		case err == nil && live.GetAnnotations()[homeAnnotation] != "":
			return live.GetAnnotations()[homeAnnotation], nil
		case err == nil:
			versioned := claim.DeepCopy()
			versioned.SetResourceVersion(live.GetResourceVersion())
			_, err = s.cluster.Apply(ctx, s.kind, versioned, options)
		}
		switch {
		case err == nil:
			return home, nil
		case !apierrors.IsConflict(err) || n == homeAttempts:
			return "", s.unclaimed(live, home, err)
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(time.Duration(n) * 100 * time.Millisecond):
		}
	}
}

// homeAttempts is how often claimHome tries while others change the parent.
const homeAttempts = 8

// unclaimed says why a set got no home, and what to do when its annotation is there
// and empty: another field manager owns it then, and no run fills it in.
func (s *Set) unclaimed(live *unstructured.Unstructured, home string, err error) error {
	err = fmt.Errorf("write the parent of apply set %s: %w", s.Parent.ID, err)
	if live == nil {
		return err
	}
	if value, there := live.GetAnnotations()[homeAnnotation]; there && value == "" {
		resource := s.kind.Resource.GroupResource()
		err = fmt.Errorf("%w; its annotation %s is empty and owned by another field manager: name the namespace of the set's Lease and history there (kubectl annotate %s %s %s=%s --overwrite), then run this again",
			err, homeAnnotation, resource, s.Parent.ID.Name, homeAnnotation, home)
	}
	return err
}

// livesIn fails when a set got another home than the one whose lock we have.
func (s *Set) livesIn(home string) error {
	if s.home == "" || s.home == home {
		return nil
	}
	return fmt.Errorf("apply set %s was made meanwhile and is kept in namespace %q, not in %q: run this again", s.Parent.ID, s.home, home)
}

// locked takes the set's lock in the home of the set.
func (r *Run) locked(ctx context.Context) (context.Context, func(), error) {
	for {
		held, release, err := r.lock(ctx)
		if err != nil || r.Parent.Namespace != "" {
			return held, release, err
		}
		set, err := Open(held, r.Cluster, r.Kind, r.Parent, r.TakeOver)
		home := r.Namespace
		if err == nil {
			home, err = set.claimHome(held, r.Namespace)
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

// lock takes the lock that is in the home as far as we know it. Where that
// Namespace is one of the stream's, and not there yet, it is the first write: by
// then nothing else keeps the run from beginning.
func (r *Run) lock(ctx context.Context) (context.Context, func(), error) {
	lock := Lock{Cluster: r.Cluster, Lease: LeaseOf(r.Parent, r.Namespace), Waiting: r.Waiting}
	held, release, err := lock.Acquire(ctx, r.LockTimeout)
	if missingNamespace(err) == "" && !isGoing(err) {
		return held, release, err
	}
	id := object.ID{Kind: "Namespace", Name: r.Namespace}
	if _, ours := r.Stream.Objects[id]; !ours {
		return nil, nil, r.homeless(isGoing(err))
	}
	if err := r.Applier.Refuses(ctx, r.Plan, r.Stream.Objects); err != nil {
		return nil, nil, err
	}
	if err := r.checked(ctx); err != nil {
		return nil, nil, err
	}
	if isGoing(err) {
		if err := awaitGone(ctx, r.Cluster, r.Namespace, r.Applier.WaveTimeout); err != nil {
			return nil, nil, err
		}
	}
	if err := r.Applier.Send(ctx, r.Stream.Objects[id]); err != nil {
		return nil, nil, fmt.Errorf("apply %s, in which the apply set is kept: %w", id, err)
	}
	r.Applier.Sent = []object.ID{id}
	return lock.Acquire(ctx, r.LockTimeout)
}

// homeless says that there is no Namespace for the set to be kept in.
func (r Run) homeless(going bool) error {
	if going {
		return fmt.Errorf("namespace %q, in which apply set %s is kept, is being deleted: wait until it is gone, and create it again or add it to the stream", r.Namespace, r.Parent)
	}
	return fmt.Errorf("namespace %q, in which apply set %s is to be kept, does not exist, and no Namespace of this stream makes it: create it, add it to the stream, or name another with -n", r.Namespace, r.Parent)
}

// homed fails when the set could not be kept anywhere, as far as may be read.
func (r Run) homed(ctx context.Context) error {
	if _, ours := r.Stream.Objects[object.ID{Kind: "Namespace", Name: r.Namespace}]; ours {
		return nil
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	kind, _ := r.Cluster.Kind(gvk)
	live, err := r.Cluster.Get(ctx, kind, "", r.Namespace)
	going := err == nil && live.GetDeletionTimestamp() != nil
	if going || apierrors.IsNotFound(err) {
		return r.homeless(going)
	}
	return nil
}
