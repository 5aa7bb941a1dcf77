package fault

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordapply/ordapply/object"
)

// AsStatus returns the Status that the API server answered with, and whether there is one.
func AsStatus(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

// IsMissing reports whether an object does not exist.
func IsMissing(err error) bool { return apierrors.IsNotFound(err) }

// IsNotServed reports whether an error is the bare 404 of a path that the API
// server does not serve, as opposed to a missing object's.
func IsNotServed(err error) bool {
	status, ok := AsStatus(err)
	return ok && status.Code == 404 && (status.Details == nil || status.Details.Name == "" || unexpectedBody(status))
}

func unexpectedBody(status metav1.Status) bool {
	return slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

// IsUnanswered reports whether a request failed without an answer of the API
// server. The bare 404 of a path that is not served is an answer.
func IsUnanswered(err error) bool {
	return IsConnectionError(err) || apierrors.IsUnexpectedServerError(err) && !IsNotServed(err)
}

// IsSchemaError reports whether a manifest does not match its kind's schema,
// which the API server answers with code 500.
func IsSchemaError(err error) bool {
	return strings.Contains(err.Error(), "failed to create typed patch object")
}

// IsUnfitValue reports whether a field cannot hold its value, such as bytes
// that are not base64, which the API server answers with code 500.
func IsUnfitValue(err error) bool {
	return strings.Contains(err.Error(), "failed to convert new object")
}

// IsWebhookUnreachable reports whether a webhook could not be reached, as
// opposed to denying the request.
func IsWebhookUnreachable(err error) bool {
	return strings.Contains(err.Error(), "failed calling webhook") && !IsDenied(err) || isConversionUnreachable(err)
}

// WebhookService returns the Service of a webhook that did not answer. It
// returns false for any other error, and for a webhook that is configured by
// URL.
func WebhookService(err error) (object.ID, bool) {
	if err == nil || !IsWebhookUnreachable(err) {
		return object.ID{}, false
	}
	m := regexp.MustCompile(`"https://([^./"]+)\.([^./"]+)\.svc[:/]`).FindStringSubmatch(err.Error())
	if m == nil {
		return object.ID{}, false
	}
	return object.ID{Kind: "Service", Namespace: m[2], Name: m[1]}, true
}

// IsDenied reports whether a webhook denied the request, with any code.
func IsDenied(err error) bool { return strings.Contains(err.Error(), "denied the request") }

// isPolicyDenial reports whether a webhook or a ValidatingAdmissionPolicy denied the
// request.
func isPolicyDenial(err error) bool {
	return IsDenied(err) || strings.Contains(err.Error(), "denied request")
}

func isQuotaExceeded(err error) bool { return strings.Contains(err.Error(), "exceeded quota") }

func isPodSecurityViolation(err error) bool {
	return strings.Contains(err.Error(), "violates PodSecurity")
}

// IsRefusedByAdmission reports whether a webhook, a policy, a quota or a Pod security level
// denied the request.
func IsRefusedByAdmission(err error) bool {
	return isPolicyDenial(err) || isQuotaExceeded(err) || isPodSecurityViolation(err)
}

// IsDefinitionTerminating reports whether the CustomResourceDefinition of an object is
// being deleted.
func IsDefinitionTerminating(err error) bool {
	return strings.Contains(err.Error(), "create not allowed while custom resource definition is terminating")
}

// IsStillAllocated reports whether an address or port that a Service asks for belongs to
// another Service, or did a moment ago.
func IsStillAllocated(err error) bool {
	return strings.Contains(err.Error(), "provided IP is already allocated") || strings.Contains(err.Error(), "provided port is already allocated")
}

// IsFieldConflict reports whether a conflict is one of server-side apply, as
// opposed to one of resourceVersions.
func IsFieldConflict(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// MissingNamespace returns the Namespace that a PATCH did not find; "" for
// any other error.
func MissingNamespace(err error) string {
	status, ok := AsStatus(err)
	if ok && status.Reason == metav1.StatusReasonNotFound && status.Details != nil && status.Details.Kind == "namespaces" {
		return status.Details.Name
	}
	return ""
}

// MissingServiceAccount returns the ServiceAccount that a Pod names and that does
// not exist, as namespace/name; "" for any other error.
func MissingServiceAccount(err error) string {
	m := regexp.MustCompile(`error looking up service account ([^:\s]+): serviceaccount "[^"]+" not found`).FindStringSubmatch(err.Error())
	if m == nil || !apierrors.IsForbidden(err) {
		return ""
	}
	return m[1]
}

// DeniedUser returns the account whose request the API server denied because it lacks
// a permission; false for any other error, such as the refusal of a quota, which is
// "forbidden" too.
func DeniedUser(err error) (user string, denied bool) {
	if err == nil || !apierrors.IsForbidden(err) {
		return "", false
	}
	m := regexp.MustCompile(`User "([^"]*)" cannot \w+ resource `).FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	return m[1], true
}

// IsBeingDeleted reports whether the API server refused to add finalizers to a
// terminating object.
func IsBeingDeleted(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "no new finalizers can be added if the object is being deleted")
}

// IsNamespaceTerminating recognises the refusal to create an object in a Namespace that
// is being deleted.
func IsNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// TerminatingNamespace returns the Namespace that an error with IsNamespaceTerminating
// names.
func TerminatingNamespace(err error) string {
	status, _ := AsStatus(err)
	for _, cause := range status.Details.Causes {
		if cause.Type == corev1.NamespaceTerminatingCause {
			name, _, _ := strings.Cut(strings.TrimPrefix(cause.Message, "namespace "), " ")
			return name
		}
	}
	return ""
}
