package kubeerr

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordapply/ordapply/applyset"
)

// Conflict is one field that another field manager owns, as a path such as
// .spec.replicas.
type Conflict struct{ Manager, Field string }

// Conflicts returns the fields in conflict of a rejected server-side apply; none for
// any other error.
func Conflicts(err error) []Conflict {
	status, ok := AsStatus(err)
	if !ok || !IsFieldConflict(err) {
		return nil
	}
	var found []Conflict
	for _, cause := range status.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			manager, _, _ := strings.Cut(strings.TrimPrefix(cause.Message, `conflict with "`), `"`)
			found = append(found, Conflict{manager, cause.Field})
		}
	}
	return found
}

// IsMembershipConflict reports whether an error is the refusal to move a member
// from one set to another.
func IsMembershipConflict(err error) bool {
	return slices.ContainsFunc(Conflicts(err), Conflict.IsAboutMembership)
}

// IsAboutMembership reports whether the field is the label of an apply set.
func (c Conflict) IsAboutMembership() bool {
	return c.Field == ".metadata.labels."+applyset.PartOfLabel
}
