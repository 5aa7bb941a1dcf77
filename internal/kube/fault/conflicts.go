package fault

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordapply/ordapply/applyset"
	internalfields "github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/plain"
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

// shownFields bounds how many fields the advice on a conflict lists.
const shownFields = 5

// conflictAdvice returns how to take the fields in conflict, and how to leave them to
// their managers.
func conflictAdvice(conflicts []Conflict) string {
	var fields []string
	for _, c := range conflicts {
		fields = append(fields, strings.TrimPrefix(c.Field, "."))
	}
	flag := ForceFlag(conflicts)
	named := ": " + strings.Join(fields, ", ")
	switch {
	case len(fields) > shownFields || len(fields) == 0:
		named = ""
	case internalfields.Check(strings.Join(fields, "\n")) != nil: // such as ordapply's own fields
		return fmt.Sprintf("take these fields with %s, or remove them from the manifest", flag)
	}
	return fmt.Sprintf("take these fields with %s, leave them to their manager with the annotation ordapply.dev/ignore-fields%s, or remove them from the manifest", flag, named)
}

// ForceFlag returns the flag that takes the fields in conflict.
func ForceFlag(conflicts []Conflict) string {
	var managers []string
	for _, c := range conflicts {
		managers = append(managers, c.Manager)
	}
	slices.Sort(managers)
	if slices.ContainsFunc(managers, func(name string) bool { return strings.Contains(name, ",") }) {
		managers = nil // the flag cannot name it
	}
	return plain.ShellQuote(strings.TrimSuffix("--force-conflicts="+strings.Join(slices.Compact(managers), ","), "="))
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
