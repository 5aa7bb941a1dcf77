package state

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

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// Members are the live objects that were made members of a set.
type Members struct {
	// Live holds them, by ID: their metadata, or the whole of them.
	Live map[object.ID]*unstructured.Unstructured
	// Unknown are kinds of which nobody can tell now, with the reason: what
	// serves them does not answer. The set goes on promising them.
	Unknown map[schema.GroupKind]error
	// Strangers carry the label of the set where it promises its members, and are
	// none, sorted by ID. Those that a controller owns are left out.
	Strangers []Stranger
}

// Members lists what the set has, wherever it promises that something may be:
// one LIST for each kind, in the set's namespace where it has but one, or one for
// each kind and namespace where the whole cluster may not be read. A kind that is
// no longer served has no members. What is read of each is its metadata.
func (s *Set) Members(ctx context.Context) (Members, error) { return s.members(ctx, true) }

// WholeMembers are the same, with all there is of each.
func (s *Set) WholeMembers(ctx context.Context) (Members, error) { return s.members(ctx, false) }

func (s *Set) members(ctx context.Context, metadata bool) (Members, error) {
	found := Members{Live: map[object.ID]*unstructured.Unstructured{}, Unknown: map[schema.GroupKind]error{}}
	var mu sync.Mutex
	var group sync.WaitGroup
	var errs []error
	for _, gk := range s.Parent.Kinds {
		gvk, ok := s.served(gk)
		if !ok {
			if err := s.unreadable(gk.Group); err != nil {
				found.Unknown[gk] = err
			}
			continue
		}
		group.Go(func() {
			objects, err := s.list(ctx, gvk, metadata)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("list the %s of apply set %s: %w", gk, s.Parent.ID, err))
			}
			for _, obj := range objects {
				obj.SetGroupVersionKind(gvk)
				found.add(s, obj)
			}
		})
	}
	group.Wait()
	slices.SortFunc(found.Strangers, func(a, b Stranger) int { return object.Compare(a.ID, b.ID) })
	return found, errors.Join(errs...)
}

// add takes up an object that carries the label of a set.
func (m *Members) add(s *Set, live *unstructured.Unstructured) {
	switch id := apply.Meta(live).ID; {
	case !s.promised(id):
	case s.claims(live):
		m.Live[id] = live
	case metav1.GetControllerOf(live) == nil:
		m.Strangers = append(m.Strangers, Stranger{ID: id, Writers: applyset.Labellers(live)})
	}
}

// claims tells whether a live object is a member of the set, by who made it
// one.
func (s *Set) claims(live *unstructured.Unstructured) bool {
	if s.foreign {
		return applyset.Owner(live) == s.Parent.SetID() && len(applyset.Claimants(live)) > 0
	}
	return s.Parent.Claims(live)
}

// answering is an error while nobody can tell what members of some kind there
// are; then says what to do when that is mended.
func (m Members) answering(then string) error {
	for gk, err := range m.Unknown {
		return fmt.Errorf("the set has %s, and what serves them does not answer, so nobody knows what is left of them: see to its APIService, then %s: %w", gk, then, err)
	}
	return nil
}

// served is the newest version under which a kind is served.
func (s *Set) served(gk schema.GroupKind) (schema.GroupVersionKind, bool) {
	versions := s.cluster.Versions(gk)
	if len(versions) == 0 {
		return schema.GroupVersionKind{}, false
	}
	return gk.WithVersion(versions[0]), true
}

// unreadable is why discovery cannot tell of a group; nil when it can.
func (s *Set) unreadable(group string) error {
	for _, gv := range s.cluster.AllUnreadable() {
		if gv.Group == group {
			return s.cluster.Unreadable(gv)
		}
	}
	return nil
}

// list reads the members of one kind.
func (s *Set) list(ctx context.Context, gvk schema.GroupVersionKind, metadata bool) ([]*unstructured.Unstructured, error) {
	kind, _ := s.cluster.Kind(gvk)
	query := apply.Query{Labels: applyset.PartOfLabel + "=" + s.Parent.SetID(), Metadata: metadata}
	var objects []*unstructured.Unstructured
	if namespaces := s.namespaces(); s.silent || !kind.Namespaced || len(namespaces) > 1 {
		all, err := s.cluster.List(ctx, kind, "", query)
		if !apierrors.IsForbidden(err) || !kind.Namespaced {
			return all, notThere(err)
		}
	}
	for _, namespace := range s.namespaces() {
		some, err := s.cluster.List(ctx, kind, namespace, query)
		if err = notThere(err); err != nil {
			return nil, err
		}
		objects = append(objects, some...)
	}
	return objects, nil
}

// notThere takes the answer that a kind or a namespace is gone for an empty
// list.
func notThere(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// namespaces are those that the set promises to keep to.
func (s *Set) namespaces() []string {
	if own := s.Parent.ID.Namespace; own != "" {
		return append([]string{own}, s.Parent.Namespaces...)
	}
	return s.Parent.Namespaces
}

// promised tells whether a live object is where the set says that its members
// are. Ours always says it: whoever took that off its parent may have taken off
// the namespaces too.
func (s *Set) promised(id object.ID) bool {
	return s.silent && !s.foreign || s.Parent.Widened([]object.ID{id}).Equal(s.Parent)
}
