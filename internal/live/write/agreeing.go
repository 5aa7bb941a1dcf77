package write

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
)

// The API server compares the applied object with the live one before it fills in defaults. So
// a list or map that is one field to it conflicts although its value stays the same, such as
// the ingress rules of a NetworkPolicy without protocol. No other manager loses anything by
// that.

// Disagreeing returns the managers of the fields in conflict whose value stays the same, and
// the conflict without these fields; a nil error if nothing else is in conflict. forced is
// the result of a forced apply to live, by a dry run.
func Disagreeing(conflict error, live, forced *unstructured.Unstructured) (agreeing []string, rest error) {
	status, ok := fault.AsStatus(conflict)
	found := fault.Conflicts(conflict)
	if !ok || len(found) == 0 || fault.IsMembershipConflict(conflict) {
		return nil, conflict
	}
	var causes []metav1.StatusCause
	at := 0
	for _, cause := range status.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			c := found[at]
			at++
			if staysSame(c, live, forced) {
				agreeing = append(agreeing, c.Manager)
				continue
			}
		}
		causes = append(causes, cause)
	}
	slices.Sort(agreeing)
	agreeing = slices.Compact(agreeing)
	switch {
	case len(causes) == 0:
		return agreeing, nil
	case len(agreeing) == 0:
		return nil, conflict
	}
	return agreeing, apierrors.NewApplyConflict(causes, conflictMessage(causes))
}

// staysSame reports whether a field in conflict has the same value after a forced apply.
func staysSame(c fault.Conflict, live, forced *unstructured.Unstructured) bool {
	var paths []fieldpath.Path
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != c.Manager {
			continue
		}
		applyset.FieldsOf(entry).Iterate(func(path fieldpath.Path) {
			if path.String() == c.Field {
				paths = append(paths, path.Copy())
			}
		})
	}
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(path fieldpath.Path) bool {
		before, is := At(live.Object, path)
		after, stays := At(forced.Object, path)
		return !is || !stays || !equality.Semantic.DeepEqual(before, after) && !isKappScope(c, before, after)
	})
}

// isKappScope reports whether a conflict is only about the label that kapp adds to the selector
// of a Service.
func isKappScope(c fault.Conflict, before, after any) bool {
	return c.Field == ".spec.selector" && equality.Semantic.DeepEqual(WithoutKappLabels(before), after)
}

// conflictMessage returns the text of the API server for conflicts.
func conflictMessage(causes []metav1.StatusCause) string {
	var text []string
	for _, cause := range causes {
		text = append(text, cause.Message+": "+cause.Field)
	}
	noun := "conflicts"
	if len(causes) == 1 {
		noun = "conflict"
	}
	return fmt.Sprintf("Apply failed with %d %s: %s", len(causes), noun, strings.Join(text, ", "))
}
