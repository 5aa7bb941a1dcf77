// Package invalid reads what an API server says about a PATCH that it rejects as invalid:
// which fields are immutable, and which fields of other managers cannot be combined with the
// manifest. It makes no request.
//
//	if fields := invalid.ImmutableFields(err); len(fields) > 0 {
//		return invalid.ImmutableError(fields, kind) // says what to do
//	}
//	blocked := invalid.FindBlockers(live, sent, err, owner) // nil: nothing is in the way
package invalid

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/ownership"
	"github.com/ordapply/ordapply/progress"
)

// onImmutableAnnotation selects what to do when a manifest changes an
// immutable field: "recreate" deletes the object and creates it again.
// Without it the change is an error, because only the author may allow a
// deletion.
const onImmutableAnnotation = "ordapply.dev/on-immutable"

// ImmutableFields returns the fields that the API server reported as
// immutable; none for any other error.
func ImmutableFields(err error) []string {
	if !apierrors.IsInvalid(err) {
		return nil
	}
	status, ok := kubeerr.AsStatus(err)
	if !ok || status.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Details.Causes {
		if isImmutableMessage(cause.Message) {
			fields = append(fields, cause.Field+exceptions(cause.Message))
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// isImmutableMessage reports whether a message says that a field is immutable.
// Each kind words it differently.
func isImmutableMessage(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{
		"immutable",
		"may not be changed",
		"may not change once set",                      // Service: clusterIP, ipFamilies
		"cannot change roleref",                        // RoleBinding, ClusterRoleBinding
		"pod updates may not change fields other than", // followed by the whole difference, printed as Go values
		"updates to statefulset spec",
	}, func(words string) bool { return strings.Contains(message, words) })
}

// exceptions returns the fields that a message says may change, for kinds
// whose error names only the spec: StatefulSet, PersistentVolumeClaim and
// Pod.
func exceptions(message string) string {
	for _, words := range []string{"fields other than ", "immutable after creation except "} {
		_, rest, found := strings.Cut(message, words)
		if !found {
			continue
		}
		rest, _, _ = strings.Cut(rest, "\n")
		for _, end := range []string{" are forbidden", " for bound claims"} {
			rest, _, _ = strings.Cut(rest, end)
		}
		return " (except for " + strings.NewReplacer("'", "", "`", "", ",spec.", ", spec.", ",`", ", ").Replace(rest) + ")"
	}
	return ""
}

// MayRecreate reports whether a manifest allows its object to be deleted and
// created again.
func MayRecreate(obj *unstructured.Unstructured) bool {
	return obj.GetAnnotations()[onImmutableAnnotation] == "recreate"
}

// ImmutableError returns the error for immutable fields: the remedy, and what
// else a deletion would remove.
func ImmutableError(fields []string, kind string) error {
	return progress.WithCode(progress.CodeImmutable, fmt.Errorf("%s cannot be changed on a live %s: give it a new name, or have it deleted and recreated%s with the annotation %s: recreate",
		JoinFields(fields), kind, lostWith(kind), onImmutableAnnotation))
}

// lostWith describes what is lost when an object of a kind is deleted and
// created again.
func lostWith(kind string) string {
	switch kind {
	case "PersistentVolumeClaim":
		return ", which loses the data on its volume,"
	case "CustomResourceDefinition":
		return ", which deletes all its custom resources,"
	}
	return ""
}

// RecreateRefusal returns an error when a live object may not be deleted and
// created again although its manifest allows that; nil when it may.
func RecreateRefusal(owner ownership.Owner, manifest, live *unstructured.Unstructured, fields []string) error {
	what := fmt.Sprintf("%s cannot be changed on a live %s, and the live object is not recreated", JoinFields(fields), live.GetKind())
	for _, obj := range []*unstructured.Unstructured{live, manifest} {
		if protection := applyset.Protection(obj); protection != "" {
			return progress.WithCode(progress.CodeImmutable, fmt.Errorf("%s, because its annotation %s protects it: remove the annotation from the object and from the manifest, or give the resource a new name", what, protection))
		}
	}
	if !owner.Applied(live) {
		return progress.WithCode(progress.CodeImmutable, fmt.Errorf("%s, because field manager %s never applied it: delete it with kubectl delete, or give the resource a new name", what, owner.Manager))
	}
	return nil
}

// JoinFields lists fields for a message.
func JoinFields(fields []string) string { return strings.Join(fields, ", ") }

// IsRefusedBySchema reports whether an error says that an object does not match
// the schema of its kind.
func IsRefusedBySchema(err error) bool {
	return kubeerr.IsUnknownField(err) || kubeerr.IsUnfitValue(err) || apierrors.IsInvalid(err) && !kubeerr.IsBeingDeleted(err) ||
		apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error")
}
