package write

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/object"
)

// onImmutableAnnotation selects what to do when a manifest changes an
// immutable field: "recreate" deletes the object and creates it again.
// Without it the change is an error, because only the author may allow a
// deletion.
const onImmutableAnnotation = "ordapply.dev/on-immutable"

// ImmutableFields returns the fields that the API server reported as immutable, in its own
// words; none for any other error, and none when the answer has another cause as well.
func ImmutableFields(err error) []string {
	return InvalidFieldsOf(withoutGeneratedLabels(err), IsImmutable)
}

// withoutGeneratedLabels returns the answer without its causes about labels that the API server
// itself adds to the Pod template of a Job: an apply that removes the last other field of the
// template's metadata removes them, too. A new Job gets its own.
func withoutGeneratedLabels(err error) error {
	status, ok := fault.AsStatus(err)
	if !ok || status.Details == nil || status.Details.Kind != "Job" {
		return err
	}
	out := status.DeepCopy()
	out.Details.Causes = slices.DeleteFunc(out.Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "spec.template.metadata.labels" || strings.HasPrefix(cause.Field, "spec.template.metadata.labels[")
	})
	return &apierrors.StatusError{ErrStatus: *out}
}

// InvalidFields returns the fields that the API server reported as invalid.
func InvalidFields(err error) []string {
	return InvalidFieldsOf(withoutGeneratedLabels(err), func(metav1.StatusCause) bool { return true })
}

// InvalidFieldsOf returns the fields that the API server reported as invalid, if all its causes
// are of one sort.
func InvalidFieldsOf(err error, isOfSort func(metav1.StatusCause) bool) []string {
	if !apierrors.IsInvalid(err) {
		return nil
	}
	status, ok := fault.AsStatus(err)
	if !ok || status.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Details.Causes {
		if !isOfSort(cause) {
			return nil
		}
		fields = append(fields, cause.Field+exceptions(cause.Message))
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// IsImmutable reports whether a cause is a validation of the API server that forbids to
// change a field of an object of a built-in kind. The words are from Kubernetes' validation
// packages (pkg/apis/*/validation, apimachinery's ValidateImmutableField); the value that they
// follow may say anything.
func IsImmutable(cause metav1.StatusCause) bool {
	switch cause.Type {
	case metav1.CauseTypeFieldValueInvalid: // "Invalid value: <value>: <words>"
		return slices.ContainsFunc([]string{
			"field is immutable",
			"may not change once set", // Service: clusterIPs, ipFamilies, loadBalancerClass
			"cannot change roleRef",   // RoleBinding, ClusterRoleBinding
		}, func(words string) bool { return cause.Message == words || strings.HasSuffix(cause.Message, ": "+words) })
	case metav1.CauseTypeForbidden: // "Forbidden: <words>"
		said := strings.TrimPrefix(cause.Message, "Forbidden: ")
		return slices.ContainsFunc([]string{
			"field is immutable",
			"pod updates may not change fields other than", // followed by the whole difference, printed as Go values
			"pod updates may not add or remove containers",
			"updates to statefulset spec for fields other than",
			"spec is immutable after creation", // PersistentVolumeClaim
			"spec.persistentvolumesource is immutable after creation",
			"may not be changed in an update", // PriorityClass
			"updates to parameters are forbidden", "updates to provisioner are forbidden", "updates to reclaimPolicy are forbidden", "updates to driverName are forbidden",
		}, func(words string) bool { return strings.HasPrefix(said, words) })
	}
	return false
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
	value, _ := object.Annotation(obj.Object, onImmutableAnnotation)
	return value == "recreate"
}

// ImmutableError returns the error for immutable fields: the remedy, and the
// losses of a deletion.
func ImmutableError(fields []string, kind string) error {
	return event.WithCode(event.CodeImmutable, fmt.Errorf("%s cannot be changed on a live %s: give it a new name, or have it deleted and recreated%s with the annotation %s: recreate",
		JoinFields(fields), kind, lostWith(kind), onImmutableAnnotation))
}

// lostWith describes the losses when an object of a kind is deleted and created
// again.
func lostWith(kind string) string {
	switch kind {
	case "PersistentVolumeClaim":
		return ", which loses the data on its volume,"
	case "CustomResourceDefinition":
		return ", which deletes all its custom resources,"
	}
	return ""
}

// JoinFields lists fields for a message.
func JoinFields(fields []string) string { return strings.Join(fields, ", ") }

// IsRefusedBySchema reports whether an error says that an object does not match
// the schema of its kind.
func IsRefusedBySchema(err error) bool {
	return fault.IsSchemaError(err) || fault.IsUnfitValue(err) || apierrors.IsInvalid(err) && !fault.IsBeingDeleted(err) ||
		apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error")
}
