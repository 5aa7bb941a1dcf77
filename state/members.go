package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// Unknown are kinds that are not served now and may have members, with the
	// reason. The set goes on promising them.
	Unknown map[schema.GroupKind]error
	// Strangers carry the label of the set where it promises its members, and are
	// none, or may be some, sorted by ID. What a controller owns, and another field
	// manager labelled, is left out: it was copied from a member.
	Strangers []Stranger
}

// Members lists what the set has, wherever it promises that something may be:
// one LIST for each kind, in the set's namespace where it has but one, or one for
// each kind and namespace where the whole cluster may not be read. A kind that is
// not served has no members only when that is certain, see apply.ReadServed. What
// is read of each is its metadata.
func (s *Set) Members(ctx context.Context) (Members, error) { return s.members(ctx, true) }

// WholeMembers are the same, with all there is of each.
func (s *Set) WholeMembers(ctx context.Context) (Members, error) { return s.members(ctx, false) }

func (s *Set) members(ctx context.Context, metadata bool) (Members, error) {
	found := Members{Live: map[object.ID]*unstructured.Unstructured{}, Unknown: map[schema.GroupKind]error{}}
	s.gone = map[schema.GroupKind]bool{}
	var mu sync.Mutex
	var group sync.WaitGroup
	var errs []error
	for _, gk := range s.Parent.Kinds {
		group.Go(func() {
			objects, err := s.ofKind(ctx, gk, metadata)
			mu.Lock()
			defer mu.Unlock()
			unserved, unknown := errors.AsType[*apply.UnservedError](err)
			switch {
			case unknown:
				found.Unknown[gk] = unserved
			case err != nil:
				errs = append(errs, fmt.Errorf("list the %s of apply set %s: %w", gk, s.Parent.ID, err))
			default:
				s.gone[gk] = objects == nil
			}
			for _, obj := range objects {
				found.add(s, obj)
			}
		})
	}
	group.Wait()
	slices.SortFunc(found.Strangers, func(a, b Stranger) int { return object.Compare(a.ID, b.ID) })
	return found, errors.Join(errs...)
}

// ofKind reads the members of one kind; nil when nothing of the kind can exist.
func (s *Set) ofKind(ctx context.Context, gk schema.GroupKind, metadata bool) (found []*unstructured.Unstructured, err error) {
	err = apply.ReadServed(ctx, s.cluster, gk, func(gvk schema.GroupVersionKind, _ apply.Kind) error {
		objects, err := s.list(ctx, gvk, metadata)
		if err != nil {
			return err
		}
		for _, obj := range objects {
			obj.SetGroupVersionKind(gvk)
		}
		found = append([]*unstructured.Unstructured{}, objects...)
		return nil
	})
	return found, err
}

// add takes up an object that carries the label of a set.
func (m *Members) add(s *Set, live *unstructured.Unstructured) {
	switch id := apply.Meta(live).ID; {
	case !s.promised(id):
	case s.claims(live):
		m.Live[id] = live
	default:
		stranger := Stranger{ID: id, Writers: applyset.Labellers(live)}
		if stranger.doubtful() || metav1.GetControllerOf(live) == nil {
			m.Strangers = append(m.Strangers, stranger)
		}
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

// answering is an error while there are kinds of which it is unknown what members
// exist; then says what to do when that is repaired.
func (m Members) answering(then string) error {
	var errs []error
	for _, gk := range m.unknownKinds() {
		errs = append(errs, fmt.Errorf("the apply set has members of kind %s that cannot be listed: %w. Repair that, then %s", gk, m.Unknown[gk], then))
	}
	return errors.Join(errs...)
}

// unknownKinds are the kinds that cannot be listed, sorted.
func (m Members) unknownKinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(m.Unknown), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}

// served is the newest version under which a kind is served.
func (s *Set) served(gk schema.GroupKind) (schema.GroupVersionKind, bool) {
	versions := s.cluster.Versions(gk)
	if len(versions) == 0 {
		return schema.GroupVersionKind{}, false
	}
	return gk.WithVersion(versions[0]), true
}

// unlabel makes an object no member of the set, if it is there and is one.
func (s *Set) unlabel(ctx context.Context, id object.ID) error {
	gvk, served := s.served(schema.GroupKind{Group: id.Group, Kind: id.Kind})
	if !served {
		return errors.New("the API server does not serve its kind now")
	}
	kind, _ := s.cluster.Kind(gvk)
	for {
		live, err := s.cluster.Get(ctx, kind, id.Namespace, id.Name)
		if apply.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if applyset.Owner(live) != s.Parent.SetID() {
			return nil
		}
		err = s.cluster.Unlabel(ctx, kind, live, applyset.PartOfLabel, s.Parent.Manager("ordapply"))
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// list reads the members of one kind.
func (s *Set) list(ctx context.Context, gvk schema.GroupVersionKind, metadata bool) ([]*unstructured.Unstructured, error) {
	kind, _ := s.cluster.Kind(gvk)
	query := apply.Query{Labels: applyset.PartOfLabel + "=" + s.Parent.SetID(), Metadata: metadata}
	var objects []*unstructured.Unstructured
	if namespaces := s.namespaces(); s.silent || !kind.Namespaced || len(namespaces) > 1 {
		all, err := s.cluster.List(ctx, kind, "", query)
		if !apierrors.IsForbidden(err) || !kind.Namespaced {
			return all, existing(err)
		}
	}
	for _, namespace := range s.namespaces() {
		some, err := s.cluster.List(ctx, kind, namespace, query)
		if err = existing(err); err != nil {
			return nil, err
		}
		objects = append(objects, some...)
	}
	return objects, nil
}

// existing takes the answer that an object or a namespace is gone for an empty
// one. A bare 404 proves nothing of the kind.
func existing(err error) error {
	if apply.IsGone(err) {
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
