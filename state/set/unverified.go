package set

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// UnverifiedMember is an object that carries the label of a set and is not proven to
// be its member.
type UnverifiedMember struct {
	ID      object.ID
	Writers []string // the field managers that own the label; none if unknown
	// unnamed is set when a field manager of the set labelled it, and no revision that the
	// parent vouches for contains it.
	unnamed bool
}

// mayBeMember reports whether the object may be a member: its managedFields,
// which would decide that, are missing, or no revision contains it.
func (s UnverifiedMember) mayBeMember() bool { return len(s.Writers) == 0 || s.unnamed }

// Withhold makes members unverified that are in no revision that the parent vouches for,
// and not listed by it: any account that may patch them can label them.
func (m *Members) Withhold(s *Set, ids []object.ID) {
	m.trust = "ordapply applyset trust " + s.Parent.Argument()
	for _, id := range ids {
		m.Unverified = append(m.Unverified, UnverifiedMember{ID: id, Writers: applyset.LabelManagers(m.Live[id]), unnamed: true})
		delete(m.Live, id)
	}
	slices.SortFunc(m.Unverified, func(a, b UnverifiedMember) int { return object.Compare(a.ID, b.ID) })
}

// String describes the object, with a remedy.
func (s UnverifiedMember) String() string {
	if s.mayBeMember() {
		return fmt.Sprintf("%s has the label of the apply set, but its managedFields do not show which field manager set it, so that it may or may not be a member: apply it again with the set, delete it, or remove the label %s", s.ID, applyset.PartOfLabel)
	}
	return fmt.Sprintf("%s has the label of the apply set but is not a member: field manager %s set the label, not a run of the set; it is left unchanged", s.ID, strings.Join(s.Writers, ", "))
}

// Remarks describes the unknown kinds and the unverified objects, for people.
func (m Members) Remarks() []string {
	var out []string
	for _, gk := range m.UnknownKinds() {
		out = append(out, fmt.Sprintf("members of kind %s are left unchanged, and the kind stays in the apply set: %v", gk, m.Unknown[gk]))
	}
	for _, stranger := range m.Unverified {
		if !stranger.unnamed {
			out = append(out, stranger.String())
		}
	}
	if text := m.unnamedText(); text != "" {
		out = append(out, text)
	}
	return out
}

// unnamedText describes the members that are withheld, with a remedy; "" for none.
func (m Members) unnamedText() string {
	var ids []object.ID
	for _, stranger := range m.Unverified {
		if stranger.unnamed {
			ids = append(ids, stranger.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("left unchanged, because no revision that the parent of the apply set lists contains them, so that anybody may have labelled them: %s; if runs of this set applied them, accept them with %s, else remove the label %s",
		strings.Join(plain.Sample(ids, 20, "and %d more", object.ID.String), ", "), m.trust, applyset.PartOfLabel)
}

// PossibleMembers returns the objects that may be members.
func (m Members) PossibleMembers() []object.ID {
	var out []object.ID
	for _, stranger := range m.Unverified {
		if stranger.mayBeMember() {
			out = append(out, stranger.ID)
		}
	}
	return out
}

// CheckVerified returns an error while there are objects that may be members.
func (m Members) CheckVerified() error {
	var errs []error
	for _, stranger := range m.Unverified {
		if stranger.mayBeMember() && !stranger.unnamed {
			errs = append(errs, fmt.Errorf("the apply set is not deleted: %s", stranger))
		}
	}
	if text := m.unnamedText(); text != "" {
		errs = append(errs, errors.New("the apply set is not deleted: members are "+text))
	}
	return errors.Join(errs...)
}

// CheckListable returns an error while there are kinds whose members cannot be
// listed; then is the step after the repair.
func (m Members) CheckListable(then string) error {
	var errs []error
	for _, gk := range m.UnknownKinds() {
		errs = append(errs, fmt.Errorf("the apply set has members of kind %s that cannot be listed: %w. Fix that, then %s", gk, m.Unknown[gk], then))
	}
	return errors.Join(errs...)
}

// UnknownKinds returns the kinds that cannot be listed, sorted.
func (m Members) UnknownKinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(m.Unknown), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}
