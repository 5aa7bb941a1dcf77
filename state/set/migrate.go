package set

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
)

// maxConcurrentMigrations bounds the concurrent requests of MigrateMembers.
const maxConcurrentMigrations = 32

// MigrateMembers makes manager the owner of the fields that another tool owned on the
// members of its set. It runs before the parent is taken over: a run that is
// killed in between leaves a set of the other tool with all its members, and
// from then on ordapply knows the members by its own manager. The members are listed
// on the parent at its next write: no revision contains them.
func (s *Set) MigrateMembers(ctx context.Context, manager string) error {
	if !s.otherTool {
		return nil
	}
	members, err := s.Members(ctx)
	if err != nil {
		return fmt.Errorf("take over the members: %w", err)
	}
	if err := members.CheckListable("run this again"); err != nil {
		return err
	}
	ids := slices.Collect(maps.Keys(members.Live))
	errs := make([]error, len(ids))
	activity.Each(len(ids), maxConcurrentMigrations, func(i int) {
		if err := s.migrateMember(ctx, members.Live[ids[i]], manager); err != nil {
			errs[i] = fmt.Errorf("take over %s from the tool that managed the apply set: %w", ids[i], err)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := s.addFormer(ids); err != nil {
		return err
	}
	return s.migrateParent(ctx)
}

// migrateParent takes over the fields that other managers own of the set's
// labels and annotations on the parent; otherwise their kinds would remain
// there when the set is narrowed. Other fields of the parent keep their
// owners.
func (s *Set) migrateParent(ctx context.Context) error {
	own := s.Parent.Manager("ordapply")
	return retryOnConflict(ctx, func() error {
		live, err := s.cluster.Get(ctx, s.kind, s.Parent.ID.Namespace, s.Parent.ID.Name)
		if err != nil {
			return ignoreGone(err)
		}
		entries := applyset.WithParentFields(live.GetManagedFields(), own)
		if equality.Semantic.DeepEqual(entries, live.GetManagedFields()) {
			return nil
		}
		return s.cluster.SetManagedFields(ctx, s.kind, live, entries, own)
	})
}

// inherited migrates the fields of the managers that made an object a member.
func inherited(live *unstructured.Unstructured, manager string) applyset.OwnershipMigration {
	members := applyset.MembershipManagers(live)
	return kube.InheritFields(live, members, members, manager)
}

// migrateMember migrates the fields of one member, as long as it is a member.
func (s *Set) migrateMember(ctx context.Context, live *unstructured.Unstructured, manager string) error {
	kind, _ := s.cluster.Kind(live.GroupVersionKind())
	for s.IsMember(live) && !s.Parent.HasMember(live) {
		err := s.cluster.Migrate(ctx, kind, live, inherited(live, manager), manager)
		if !apierrors.IsConflict(err) {
			return ignoreGone(err)
		}
		if live, err = s.cluster.Get(ctx, kind, live.GetNamespace(), live.GetName()); err != nil {
			return ignoreGone(err)
		}
	}
	return nil
}
