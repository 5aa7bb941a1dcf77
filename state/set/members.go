package set

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Members are the live members of a set.
type Members struct {
	// Live holds them by ID: their metadata, or the whole objects.
	Live map[object.ID]*unstructured.Unstructured
	// Unknown are the kinds that are not served now and may have members,
	// with the reason. The set keeps them among its group-kinds.
	Unknown map[schema.GroupKind]error
	// Unverified carry the label of the set in its kinds and namespaces, but
	// are not proven members, sorted by ID. Objects with a controller that
	// another field manager labelled are left out: their labels were copied
	// from a member.
	Unverified []UnverifiedMember

	trust string // the command that accepts withheld members
}

// Members lists the members of the set in all its kinds and namespaces: one
// LIST for each kind, in the set's namespace where it has only one, or one
// for each kind and namespace where the whole cluster may not be listed. A
// kind that is not served has no members only when that is certain, see
// kube.ReadServed. It reads metadata only.
func (s *Set) Members(ctx context.Context) (Members, error) {
	return s.members(ctx, kube.Query{Metadata: true})
}

// MembersElsewhere is Members without those of a kind whose members in all namespaces of the set,
// "" for a cluster-scoped kind, are known to the caller.
func (s *Set) MembersElsewhere(ctx context.Context, known func(kind schema.GroupKind, namespace string) bool) (Members, error) {
	if s.missingGroupKinds { // the set may be in any namespace
		return s.Members(ctx)
	}
	rest := *s
	rest.Parent.Kinds = slices.DeleteFunc(slices.Clone(s.Parent.Kinds), func(gk schema.GroupKind) bool {
		isUnknown := func(namespace string) bool { return !known(gk, namespace) }
		namespaces := s.Namespaces()
		return known(gk, "") || len(namespaces) > 0 && !slices.ContainsFunc(namespaces, isUnknown)
	})
	return rest.Members(ctx)
}

// FullMembers is Members with the whole objects.
func (s *Set) FullMembers(ctx context.Context) (Members, error) { return s.members(ctx, kube.Query{}) }

// members lists the members with a query for one kind, and the label of the set.
func (s *Set) members(ctx context.Context, query kube.Query) (Members, error) {
	query.Labels = applyset.PartOfLabel + "=" + s.Parent.SetID()
	found := Members{Live: map[object.ID]*unstructured.Unstructured{}, Unknown: map[schema.GroupKind]error{}}
	var mu sync.Mutex
	var group sync.WaitGroup
	var errs []error
	for _, gk := range s.Parent.Kinds {
		group.Go(func() {
			objects, err := s.listKind(ctx, gk, query)
			mu.Lock()
			defer mu.Unlock()
			unserved, unknown := errors.AsType[*kube.UnservedError](err)
			switch {
			case unknown:
				found.Unknown[gk] = unserved
			case err != nil:
				errs = append(errs, fmt.Errorf("list the %s of apply set %s: %w", gk, s.Parent.ID, err))
			}
			for _, obj := range objects {
				found.add(s, obj)
			}
		})
	}
	group.Wait()
	slices.SortFunc(found.Unverified, func(a, b UnverifiedMember) int { return object.Compare(a.ID, b.ID) })
	return found, errors.Join(errs...)
}

// listKind lists the members of one kind; none when the kind cannot have objects.
func (s *Set) listKind(ctx context.Context, gk schema.GroupKind, query kube.Query) (found []*unstructured.Unstructured, err error) {
	err = kube.ReadServed(ctx, s.cluster, gk, func(gvk schema.GroupVersionKind, _ kube.Kind) error {
		objects, err := s.list(ctx, gvk, query)
		if err != nil {
			return err
		}
		for _, obj := range objects {
			obj.SetGroupVersionKind(gvk)
		}
		found = objects
		return nil
	})
	return found, err
}

// add adds an object that carries the label of a set.
func (m *Members) add(s *Set, live *unstructured.Unstructured) {
	switch id := kube.Meta(live).ID; {
	case !s.inContents(id):
	case s.IsMember(live):
		m.Live[id] = live
	default:
		stranger := UnverifiedMember{ID: id, Writers: applyset.LabelManagers(live)}
		if stranger.mayBeMember() || metav1.GetControllerOf(live) == nil {
			m.Unverified = append(m.Unverified, stranger)
		}
	}
}

// IsMember reports whether a live object is a member of the set, by the field
// manager that labelled it.
func (s *Set) IsMember(live *unstructured.Unstructured) bool {
	if s.otherTool {
		return applyset.Owner(live) == s.Parent.SetID() && len(applyset.MembershipManagers(live)) > 0
	}
	return s.Parent.HasMember(live)
}

// list lists the members of one kind.
func (s *Set) list(ctx context.Context, gvk schema.GroupVersionKind, query kube.Query) ([]*unstructured.Unstructured, error) {
	kind, _ := s.cluster.Kind(gvk)
	var objects []*unstructured.Unstructured
	if namespaces := s.Namespaces(); s.missingGroupKinds || !kind.Namespaced || len(namespaces) > 1 {
		all, err := s.cluster.List(ctx, kind, "", query)
		if !apierrors.IsForbidden(err) || !kind.Namespaced {
			return all, ignoreGone(err)
		}
	}
	for _, namespace := range s.Namespaces() {
		some, err := s.cluster.List(ctx, kind, namespace, query)
		if err = ignoreGone(err); err != nil {
			return nil, err
		}
		objects = append(objects, some...)
	}
	return objects, nil
}

// ignoreGone treats a missing object or namespace as an empty answer. A bare
// 404 proves nothing about the kind.
func ignoreGone(err error) error {
	if kube.IsGone(err) {
		return nil
	}
	return err
}

// Namespaces returns the namespaces of the set.
func (s *Set) Namespaces() []string {
	if own := s.Parent.ID.Namespace; own != "" {
		return append([]string{own}, s.Parent.Namespaces...)
	}
	return s.Parent.Namespaces
}

// inContents reports whether a live object is in the kinds and namespaces of
// the set. If the group-kinds annotation was removed from a parent of
// ordapply, its namespaces may have been removed too, so every object counts.
func (s *Set) inContents(id object.ID) bool {
	return s.missingGroupKinds && !s.otherTool || s.Parent.WithMembers([]object.ID{id}).Equal(s.Parent)
}
