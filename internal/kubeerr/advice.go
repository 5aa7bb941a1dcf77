package kubeerr

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/object"
)

// Explain adds a remedy, or the cause in other words, to an error of the API server.
// The result wraps err, or is err where there is nothing to add. err is not nil.
func Explain(err error) error {
	if faults := wrongTypes(err); faults != "" {
		return &redactedError{"the manifest has values of the wrong type: " + faults, err}
	}
	if advice := adviceBeforeCause(err); advice != "" {
		return fmt.Errorf("%s (%w)", advice, err)
	}
	if advice := adviceAfterCause(err); advice != "" {
		return fmt.Errorf("%w; %s", err, advice)
	}
	switch {
	case IsNamespaceTerminating(err):
		return NamespaceTerminating(TerminatingNamespace(err), "")
	case IsUnknownField(err):
		return fmt.Errorf("the manifest has a field that its kind does not define: %w", err)
	case IsUnfitValue(err):
		return fmt.Errorf("the manifest has a value that does not fit its field: %w", err)
	case IsConnectionError(err):
		return Unreachable(err)
	}
	if advice := serverAdvice(err); advice != "" {
		return fmt.Errorf("%w; %s", err, advice)
	}
	return err
}

// adviceBeforeCause returns the advice that goes before the API server's
// message, for messages that are misleading on their own.
func adviceBeforeCause(err error) string {
	switch {
	case IsNamespaceTerminating(err):
		return ""
	case strings.Contains(err.Error(), "create not allowed while custom resource definition is terminating"):
		return "its CustomResourceDefinition is being deleted, and all its custom resources with it: wait until it is gone, apply it again, then run this again"
	case MissingNamespace(err) != "":
		return fmt.Sprintf("namespace %q does not exist, neither in the cluster nor in this stream: add it to the stream or create it first", MissingNamespace(err))
	case IsNotServed(err):
		return "the API server stopped serving this kind: was its CustomResourceDefinition deleted or changed?"
	case MissingServiceAccount(err) != "":
		return fmt.Sprintf("service account %s does not exist: add it to the stream or create it first", MissingServiceAccount(err))
	}
	return ""
}

// adviceAfterCause returns the advice that goes after the API server's message.
func adviceAfterCause(err error) string {
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case IsMembershipConflict(err):
		return "it is a member of another apply set: remove it from that set first, or take it over with --take-over"
	case IsFieldConflict(err):
		return "another field manager owns these fields: take them with --force-conflicts, or leave them out of the manifest"
	case says("x509: ") && !says("webhook"):
		return "the certificate-authority of the kubeconfig does not match the server's certificate: get a new kubeconfig, or check for a proxy between you and the API server"
	case isConversionUnreachable(err), isConversionRefusal(err):
		return conversionAdvice(err)
	case IsWebhookUnreachable(err):
		return webhookAdvice(err)
	case IsDenied(err), says("denied request"): // a webhook; a ValidatingAdmissionPolicy
		return "change the manifest, or ask the owner of that policy"
	case apierrors.IsConflict(err):
		return "another client keeps changing it: stop that client, or run this again"
	case says("exceeded quota"):
		return "a ResourceQuota of the namespace is exceeded: raise it, or request less"
	case says("violates PodSecurity"):
		return "set the named fields in the securityContext, or relax the namespace's label pod-security.kubernetes.io/enforce"
	case CredentialsRefused(err):
		return "the API server does not accept the credentials of your kubeconfig: log in again"
	case apierrors.IsRequestEntityTooLargeError(err), says("request is too large"):
		return "the object is too large for the cluster to store: split it"
	case apierrors.IsForbidden(err):
		return permissionAdvice(err)
	}
	return ""
}

// webhookAdvice returns what to check when a webhook does not answer.
func webhookAdvice(err error) string {
	if m := regexp.MustCompile(`service "([^"]+)" not found`).FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf("the Service %s of the webhook does not exist: apply it first, or delete the webhook configuration if it is a leftover", m[1])
	}
	if strings.Contains(err.Error(), "x509: ") {
		return "the caBundle of the webhook configuration does not match the webhook's certificate: renew one of them"
	}
	return "the webhook does not answer: check that its workload is running and reachable from the API server"
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

// permissionAdvice names the role, the subject and the verbs to grant.
func permissionAdvice(err error) string {
	m := regexp.MustCompile(`User "([^"]*)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`).FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	role, where := "ClusterRole", ""
	if m[5] != "" {
		role, where = "Role", fmt.Sprintf(" in namespace %q", m[5])
	}
	verbs := "get, list, watch, create and patch"
	if m[2] == "delete" {
		verbs = "get, list, watch and delete"
	}
	return fmt.Sprintf("grant %[3]q the verbs %[4]s on %[5]q of apiGroup %[6]q with a %[1]s%[2]s", role, where, m[1], verbs, m[3], m[4])
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

// NamespaceTerminating returns the error about a resource whose Namespace is being
// deleted; held says what delays that, and may be "".
func NamespaceTerminating(name, held string) error {
	return fmt.Errorf("namespace %q is being deleted%s, with everything in it: wait until it is gone and create it again, or add the Namespace to the stream: the run then waits", name, held)
}
