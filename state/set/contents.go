package set

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// Widen adds the kinds and namespaces of these members to the set's parent.
// It must precede the first write to any of them, under the set's lock, and writes
// nothing when the parent has them already.
func (s *Set) Widen(ctx context.Context, members []object.ID) error {
	return s.updateContents(ctx, s.Parent.WithMembers(members))
}

// Narrow reduces the parent's kinds and namespaces to these members', once all
// others are gone. Unknown kinds are kept, with all namespaces of the set.
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
	return asWritten && next.Equal(s.Parent) && s.former.text() == s.live.former && takenText(s.taken) == s.live.taken
}

// Vouch is Widen for the run of a new revision, which is stored next: it also writes the
// number and the vouchers.
func (s *Set) Vouch(ctx context.Context, number int, next history.Vouchers, members []object.ID) error {
	s.revision, s.vouchers = number, next
	parent := s.Parent.WithMembers(members)
	parent.Tooling = applyset.Tooling
	return s.Write(ctx, parent)
}
