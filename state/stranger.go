package state

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// UnverifiedMember is an object that carries the label of a set and is not proven to
// be its member.
type UnverifiedMember struct {
	ID      object.ID
	Writers []string // the field managers that own the label; none if unknown
}

// mayBeMember reports whether the object may be a member: its managedFields,
// which would decide that, are missing.
func (s UnverifiedMember) mayBeMember() bool { return len(s.Writers) == 0 }

// String describes the object, with a remedy.
func (s UnverifiedMember) String() string {
	if s.mayBeMember() {
		return fmt.Sprintf("%s carries the label of the apply set, and nobody can tell whether it is a member, as its managedFields do not say who wrote that: apply it again with the set, delete it, or take the label %s off", s.ID, applyset.PartOfLabel)
	}
	return fmt.Sprintf("%s carries the label of the apply set and is no member of it: field manager %s wrote that, and not a run of the set; it is left alone", s.ID, strings.Join(s.Writers, ", "))
}

// Remarks describes the unknown kinds and the unverified objects, for people.
func (m Members) Remarks() []string {
	var out []string
	for _, gk := range m.unknownKinds() {
		out = append(out, fmt.Sprintf("members of kind %s are left as they are, and the apply set keeps the kind: %v", gk, m.Unknown[gk]))
	}
	for _, stranger := range m.Unverified {
		out = append(out, stranger.String())
	}
	return out
}

// possibleMembers returns the objects that may be members.
func (m Members) possibleMembers() []object.ID {
	var out []object.ID
	for _, stranger := range m.Unverified {
		if stranger.mayBeMember() {
			out = append(out, stranger.ID)
		}
	}
	return out
}

// checkVerified returns an error while there are objects that may be members.
func (m Members) checkVerified() error {
	var errs []error
	for _, stranger := range m.Unverified {
		if stranger.mayBeMember() {
			errs = append(errs, fmt.Errorf("the apply set stays: %s", stranger))
		}
	}
	return errors.Join(errs...)
}
