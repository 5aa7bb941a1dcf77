package liveset

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// Widen adds the kinds and namespaces of these members to the set's parent.
// It must precede the first write to any of them, under the set's lock, and writes
// nothing when the parent has them already.
func (s *Set) Widen(ctx context.Context, members []object.ID) error {
	return s.updateContents(ctx, s.Parent.WithMembers(members))
}

// Narrow reduces the parent's kinds and namespaces to those of these members,
// once all others are gone. Unknown kinds are kept, with all namespaces of
// the set.
func (s *Set) Narrow(ctx context.Context, members []object.ID, unknown map[schema.GroupKind]error) error {
	return s.updateContents(ctx, s.narrowed(members, unknown))
}

func (s *Set) narrowed(members []object.ID, unknown map[schema.GroupKind]error) applyset.Parent {
	next := s.Parent.ForMembers(members)
	if len(unknown) > 0 {
		next = next.WithKindsAndNamespaces(slices.Collect(maps.Keys(unknown)), s.Parent.Namespaces)
	}
	return next
}

// RemoveKind removes a kind without members from the set.
func (s *Set) RemoveKind(ctx context.Context, gk schema.GroupKind) error {
	next := s.Parent
	next.Kinds = slices.DeleteFunc(slices.Clone(next.Kinds), func(k schema.GroupKind) bool { return k == gk })
	if !s.live.exists { // a lost parent is not written only to be deleted
		s.Parent = next
		return nil
	}
	return s.updateContents(ctx, next)
}

func (s *Set) updateContents(ctx context.Context, next applyset.Parent) error {
	next.Tooling = applyset.Tooling
	if s.hasContents(next) {
		return nil
	}
	return s.Write(ctx, next)
}

// hasContents reports whether the parent on the cluster is exactly next.
func (s *Set) hasContents(next applyset.Parent) bool {
	asWritten := s.live.exists && !s.missingGroupKinds && s.damage == undamaged && s.live.digest != "" && s.live.number != 0
	return asWritten && next.Equal(s.Parent)
}

// CoveringNumber returns the parent's number when it already covers these members; 0
// when Widen is going to write it.
func (s *Set) CoveringNumber(members []object.ID) int {
	next := s.Parent.WithMembers(members)
	next.Tooling = applyset.Tooling
	if s.hasContents(next) {
		return s.live.number
	}
	return 0
}
