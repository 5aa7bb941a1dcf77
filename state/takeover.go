package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// claimsAtOnce bounds the requests of claim that are out together.
const claimsAtOnce = 32

// claim makes manager the owner of what another tool owned on the members of a
// set that it kept. It comes before the parent says that the set is ours: a run
// that is killed in between leaves a set of the other tool's, with all its
// members, and from then on the members are known by our own manager.
func (s *Set) claim(ctx context.Context, manager string) error {
	if !s.foreign {
		return nil
	}
	members, err := s.Members(ctx)
	if err != nil {
		return fmt.Errorf("take over the members: %w", err)
	}
	if err := members.answering("run this again"); err != nil {
		return err
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var errs []error
	turns := make(chan struct{}, claimsAtOnce)
	for id, live := range members.Live {
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if err := s.claimOne(ctx, live, manager); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("take over %s from the tool that kept the apply set: %w", id, err))
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.claimParent(ctx)
}

// claimParent makes ours what others own of the set's labels and annotations on the
// parent; else what they promised would live on there when the set promises less.
// What else the parent holds stays theirs.
func (s *Set) claimParent(ctx context.Context) error {
	own := s.Parent.Manager("ordapply")
	for {
		live, err := s.cluster.Get(ctx, s.kind, s.Parent.ID.Namespace, s.Parent.ID.Name)
		if err != nil {
			return existing(err)
		}
		entries := applyset.WithParentFields(live.GetManagedFields(), own)
		if equality.Semantic.DeepEqual(entries, live.GetManagedFields()) {
			return nil
		}
		if err = s.cluster.SetManagedFields(ctx, s.kind, live, entries, own); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// claimOne is claim for one member, as long as it is one.
func (s *Set) claimOne(ctx context.Context, live *unstructured.Unstructured, manager string) error {
	kind, _ := s.cluster.Kind(live.GroupVersionKind())
	for s.claims(live) && !s.Parent.Claims(live) {
		err := s.cluster.Migrate(ctx, kind, live, applyset.Claimants(live), manager)
		if !apierrors.IsConflict(err) {
			return existing(err)
		}
		if live, err = s.cluster.Get(ctx, kind, live.GetNamespace(), live.GetName()); err != nil {
			return existing(err)
		}
	}
	return nil
}

// asClaimed lets a run that writes nothing go on as if claim had made all ours
// that another tool owned on the members.
func (r *Run) asClaimed(ctx context.Context, set *Set) error {
	if !set.foreign {
		return nil
	}
	members, err := set.Members(ctx)
	if err != nil {
		return fmt.Errorf("find what would be taken over: %w", err)
	}
	former := slices.Clone(r.Applier.Membership.Predecessors)
	for _, live := range members.Live {
		former = append(former, applyset.Claimants(live)...)
	}
	slices.Sort(former)
	r.Applier.Membership.Predecessors = slices.Compact(former)
	return nil
}
