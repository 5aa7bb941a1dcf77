package apply

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/object"
)

// explain adds to the API server's words what to do about them.
func explain(err error) error {
	if faults := wrongTypes(err); faults != "" {
		return &redacted{"its manifest has values of the wrong type: " + faults, err}
	}
	if advice := beforeTheCause(err); advice != "" {
		return fmt.Errorf("%s (%w)", advice, err)
	}
	if advice := afterTheCause(err); advice != "" {
		return fmt.Errorf("%w; %s", err, advice)
	}
	switch {
	case namespaceTerminating(err):
		return namespaceGoing(terminatingNamespace(err), "")
	case unknownField(err):
		return fmt.Errorf("its manifest has a field that its kind does not know: %w", err)
	case unfitValue(err):
		return fmt.Errorf("its manifest has a value that its field cannot hold: %w", err)
	case isConnectionTrouble(err):
		return unreached(err)
	}
	if advice := serverTrouble(err); advice != "" {
		return fmt.Errorf("%w; %s", err, advice)
	}
	return err
}

// beforeTheCause is advice where the API server's own words would mislead who
// reads them first.
func beforeTheCause(err error) string {
	switch {
	case namespaceTerminating(err):
		return ""
	case strings.Contains(err.Error(), "create not allowed while custom resource definition is terminating"):
		return "its CustomResourceDefinition is being deleted, and all its custom resources with it: wait until it is gone, apply it again, then run this again"
	case missingNamespace(err) != "":
		return fmt.Sprintf("namespace %q does not exist and no Namespace of this stream makes it: add it to the stream or create it first", missingNamespace(err))
	case notServed(err):
		return "the API server stopped serving this kind: was its CustomResourceDefinition deleted or changed?"
	case missingAccount(err) != "":
		return fmt.Sprintf("service account %s does not exist: add it to the stream or create it first", missingAccount(err))
	}
	return ""
}

// afterTheCause is advice that follows from the API server's own words.
func afterTheCause(err error) string {
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case contestsMembership(err):
		return "it is a member of another apply set: take it out of that one first, or take it over with --take-over"
	case fieldConflict(err):
		return "another field manager owns these fields: take them with --force-conflicts, or leave them out of the manifest"
	case says("x509: ") && !says("webhook"):
		return "the kubeconfig's certificate-authority does not fit the certificate that the server shows: get a new kubeconfig, or see what stands between you and the API server"
	case isConversionTransport(err), isConversionRefusal(err):
		return conversionAdvice(err)
	case isWebhookTransport(err):
		return unreachableWebhook(err)
	case isDenial(err), says("denied request"): // a webhook; a ValidatingAdmissionPolicy
		return "change the manifest, or ask who owns that policy"
	case apierrors.IsConflict(err):
		return "somebody else changes it again and again: stop that, or run this again"
	case says("exceeded quota"):
		return "a ResourceQuota of the namespace allows no more: raise it, or ask for less"
	case says("violates PodSecurity"):
		return "set what it names in the securityContext, or let the namespace's label pod-security.kubernetes.io/enforce allow it"
	case CredentialsRefused(err):
		return "the API server does not accept the credentials of your kubeconfig: log in again"
	case apierrors.IsRequestEntityTooLargeError(err), says("request is too large"):
		return "split the object: the cluster stores none of that size"
	case apierrors.IsForbidden(err):
		return missingPermission(err)
	}
	return ""
}

// unreachableWebhook says where to look when a webhook does not answer.
func unreachableWebhook(err error) string {
	if m := regexp.MustCompile(`service "([^"]+)" not found`).FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf("the Service %s behind the webhook does not exist: apply it first, or delete the webhook configuration if it is left over from something that is gone", m[1])
	}
	if strings.Contains(err.Error(), "x509: ") {
		return "the caBundle of the webhook configuration does not fit the certificate that the webhook shows: renew one of them"
	}
	return "the webhook does not answer: is its workload running and reachable from the API server?"
}

// webhookService is the Service behind a webhook that did not answer; false
// when that was not the trouble, or it is reached by URL.
func webhookService(err error) (object.ID, bool) {
	if err == nil || !isWebhookTransport(err) {
		return object.ID{}, false
	}
	m := regexp.MustCompile(`"https://([^./"]+)\.([^./"]+)\.svc[:/]`).FindStringSubmatch(err.Error())
	if m == nil {
		return object.ID{}, false
	}
	return object.ID{Kind: "Service", Namespace: m[2], Name: m[1]}, true
}

// missingPermission says what would have to be allowed, and to whom.
func missingPermission(err error) string {
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
	return fmt.Sprintf("let a %s%s grant %q the verbs %s on %q of apiGroup %q", role, where, m[1], verbs, m[3], m[4])
}

// missingAccount is the ServiceAccount that a Pod names and that is not there,
// as namespace/name; "" when that was not its trouble.
func missingAccount(err error) string {
	m := regexp.MustCompile(`error looking up service account ([^:\s]+): serviceaccount "[^"]+" not found`).FindStringSubmatch(err.Error())
	if m == nil || !apierrors.IsForbidden(err) {
		return ""
	}
	return m[1]
}
