package state

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// Stranger is an object that carries the label of a set and is no member of it,
// as far as can be told.
type Stranger struct {
	ID      object.ID
	Writers []string // the field managers that own the label; none where nobody can tell
}

// doubtful tells whether the object may have been a member: managedFields, which
// would tell, are gone.
func (s Stranger) doubtful() bool { return len(s.Writers) == 0 }

// String is what there is to say of it.
func (s Stranger) String() string {
	if s.doubtful() {
		return fmt.Sprintf("%s carries the label of the apply set, and nobody can tell whether it is a member, as its managedFields do not say who wrote that: apply it again with the set, delete it, or take the label %s off", s.ID, applyset.PartOfLabel)
	}
	return fmt.Sprintf("%s carries the label of the apply set and is no member of it: field manager %s wrote that, and not a run of the set; it is left alone", s.ID, strings.Join(s.Writers, ", "))
}

// Remarks say which members are unknown, and of each stranger that it is none of
// the members.
func (m Members) Remarks() []string {
	var out []string
	for _, gk := range m.unknownKinds() {
		out = append(out, fmt.Sprintf("members of kind %s are left as they are, and the apply set keeps the kind: %v", gk, m.Unknown[gk]))
	}
	for _, stranger := range m.Strangers {
		out = append(out, stranger.String())
	}
	return out
}

// doubtful are the objects that may be members.
func (m Members) doubtful() []object.ID {
	var out []object.ID
	for _, stranger := range m.Strangers {
		if stranger.doubtful() {
			out = append(out, stranger.ID)
		}
	}
	return out
}

// certain is an error while there is something that may be a member.
func (m Members) certain() error {
	var errs []error
	for _, stranger := range m.Strangers {
		if stranger.doubtful() {
			errs = append(errs, fmt.Errorf("the apply set stays: %s", stranger))
		}
	}
	return errors.Join(errs...)
}
