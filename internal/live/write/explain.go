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
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/kube"
)

// ExplainInvalid adds a remedy to an error of the API server, using what is known about the
// Namespaces that the stream contains in addition to the answer.
func ExplainInvalid(err error, hasNamespace func(name string) bool) error {
	if fault.IsNamespaceTerminating(err) {
		if name := fault.TerminatingNamespace(err); hasNamespace(name) {
			return event.WithCode(event.CodeTerminating, fmt.Errorf("another client deleted namespace %q with everything in it during this run: run this again, which waits until it is gone", name))
		}
	}
	return fault.Explain(withoutImmutable(err))
}

// withoutImmutable returns an answer that names immutable fields beside other errors in other
// words: those errors come first, and the values that the API server prints of an immutable
// field, such as a whole Pod template, are left out.
func withoutImmutable(err error) error {
	status, ok := err.(*apierrors.StatusError) //nolint:errorlint // not one whose text hides values
	if !ok || status.ErrStatus.Details == nil || !apierrors.IsInvalid(err) {
		return err
	}
	var others, fields []string
	for _, cause := range status.ErrStatus.Details.Causes {
		if IsImmutable(cause) {
			fields = append(fields, cause.Field+exceptions(cause.Message))
		} else if other := strings.TrimPrefix(cause.Field+": "+cause.Message, ": "); !slices.Contains(others, other) { // Kubernetes repeats some
			others = append(others, other)
		}
	}
	if len(others) == 0 || len(fields) == 0 {
		return err
	}
	return redact.Reworded(fmt.Sprintf("the object is invalid: %s; beside that, %s cannot be changed on a live object", strings.Join(others, ", "), JoinFields(fields)), err)
}

// StoredVersionsDetail describes the refusal of a CustomResourceDefinition that lacks versions in
// which objects may be stored; "" for any other error.
func StoredVersionsDetail(err error) string {
	fields := InvalidFieldsOf(err, func(cause metav1.StatusCause) bool { return strings.HasPrefix(cause.Field, "status.storedVersions") })
	if len(fields) == 0 {
		return ""
	}
	return "kept as it is: objects may be stored in a version that the earlier definition lacks (" + JoinFields(fields) + ")"
}

// CRDTerminating returns the error about a CustomResourceDefinition that is being
// deleted.
func CRDTerminating(live *unstructured.Unstructured) error {
	return event.WithCode(event.CodeTerminating, fmt.Errorf("the CustomResourceDefinition is being deleted%s, and all its custom resources with it: wait until it is gone, then run this again", kube.DeletionBlockers(live)))
}
