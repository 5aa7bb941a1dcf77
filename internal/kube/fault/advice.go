package fault

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/kube/redact"
)

// Explain adds a remedy, or the cause in other words, to an error of the API server.
// The result wraps err, or is err where there is nothing to add. err is not nil.
func Explain(err error) error {
	if mistakes := wrongTypes(err); mistakes != "" {
		return redact.Reworded("the manifest has values of the wrong type: "+mistakes, err)
	}
	if advice := adviceBeforeCause(err); advice != "" {
		return fmt.Errorf("%s (%w)", advice, err)
	}
	if advice := adviceAfterCause(err); advice != "" {
		if advice == LogInAdvice {
			err = LogInError{err}
		}
		return fmt.Errorf("%w; %s", err, advice)
	}
	switch {
	case IsNamespaceTerminating(err):
		return &NamespaceTerminatingError{Namespace: TerminatingNamespace(err)}
	case IsSchemaError(err):
		return fmt.Errorf("%s: %w", schemaMistake(err), err)
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

// schemaMistake names how a manifest does not match the schema of its kind.
func schemaMistake(err error) string {
	contains := func(text string) bool { return strings.Contains(err.Error(), text) }
	unknown := contains("field not declared in schema")
	duplicate := contains("duplicate entries for key")
	noKey := contains("has an element that omits all key fields") || contains("has an element that omits key field")
	switch {
	case unknown && !duplicate && !noKey:
		return "the manifest has a field that its kind does not define"
	case duplicate && !unknown && !noKey:
		return "the manifest has a list with two items of the same key"
	case noKey && !unknown && !duplicate:
		return "the manifest has a list item without its key"
	}
	return "the manifest does not match the schema of its kind"
}

// adviceBeforeCause returns the advice that goes before the API server's
// message, for messages that are misleading on their own.
func adviceBeforeCause(err error) string {
	switch {
	case IsNamespaceTerminating(err):
		return ""
	case IsDefinitionTerminating(err):
		return "its CustomResourceDefinition is being deleted, and all its custom resources with it: wait until it is gone, apply it again, then run this again"
	case MissingNamespace(err) != "":
		return missingNamespaceAdvice(MissingNamespace(err))
	case IsNotServed(err):
		return "the API server stopped serving this kind: was its CustomResourceDefinition deleted or changed?"
	case MissingServiceAccount(err) != "":
		return fmt.Sprintf("service account %s does not exist: add it to the stream or create it first", MissingServiceAccount(err))
	}
	return ""
}

// missingNamespaceAdvice returns the remedy for a Namespace that does not exist.
func missingNamespaceAdvice(name string) string {
	return fmt.Sprintf("namespace %q does not exist, neither in the cluster nor in this stream: add it to the stream or create it first; "+
		"if another program creates it, wait for it with the annotation ordapply.dev/depends-on: external:/Namespace/%s", name, name)
}

// adviceAfterCause returns the advice that goes after the API server's message.
func adviceAfterCause(err error) string {
	contains := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case IsMembershipConflict(err):
		return "it is a member of another apply set: remove it from that set first, or take it over with --take-over"
	case IsFieldConflict(err):
		return conflictAdvice(Conflicts(err))
	case contains("x509: ") && !contains("webhook"):
		return "the certificate-authority of the kubeconfig does not match the server's certificate: get a new kubeconfig, or check for a proxy between you and the API server"
	case isUnfitForLastVersion(err):
		return "it was last applied in an older version of its kind, which lacks that field: apply it in the new version once without the field, then with it"
	case contains("status.storedVersions"):
		return "objects may still be stored in that version: keep it in spec.versions, or write them all in another version and remove it from status.storedVersions (kubectl edit crd --subresource=status)"
	case isConversionUnreachable(err), isConversionRefusal(err):
		return conversionAdvice(err)
	case IsWebhookUnreachable(err):
		return webhookAdvice(err)
	case isPolicyDenial(err):
		return "change the manifest, or ask the owner of that policy"
	case apierrors.IsConflict(err):
		return "another client keeps changing it: stop that client, or run this again"
	case isQuotaExceeded(err):
		return "a ResourceQuota of the namespace is exceeded: raise it, or request less"
	case isPodSecurityViolation(err):
		return "set the named fields in the securityContext, or relax the namespace's label pod-security.kubernetes.io/enforce"
	case CredentialsRefused(err):
		return LogInAdvice
	case apierrors.IsRequestEntityTooLargeError(err), contains("request is too large"):
		return "the object is too large for the cluster to store: split it"
	case apierrors.IsForbidden(err):
		return permissionAdvice(err)
	}
	return ""
}

// webhookAdvice returns the advice for a webhook that does not answer.
func webhookAdvice(err error) string {
	if m := regexp.MustCompile(`service "([^"]+)" not found`).FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf("the Service %s of the webhook does not exist: apply it first, or delete the webhook configuration if it is a leftover", m[1])
	}
	if strings.Contains(err.Error(), "x509: ") {
		return "the caBundle of the webhook configuration does not match the webhook's certificate: renew one of them"
	}
	return "the webhook does not answer: check that its workload is running and reachable from the API server"
}

// LacksVerb reports whether a request was refused because the account may not use a verb.
func LacksVerb(err error, verb string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot "+verb+" resource ")
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

// NamespaceTerminatingError is the error about a resource whose Namespace is being deleted.
type NamespaceTerminatingError struct {
	Namespace string
	BlockedBy string // the cause of the delay, for the message; may be ""
}

// Error names the namespace, the obstacle to its deletion, and the remedy.
func (e *NamespaceTerminatingError) Error() string {
	return fmt.Sprintf("namespace %q is being deleted%s, with everything in it: wait until it is gone and create it again, or add the Namespace to the stream: the run then waits", e.Namespace, e.BlockedBy)
}

// conversionAdvice returns the advice for a failed conversion.
func conversionAdvice(err error) string {
	of, _, _ := failedConversion(err)
	crd := "the CustomResourceDefinition of " + of.GroupKind()
	service := "the webhook of its spec.conversion"
	if id, ok := WebhookService(err); ok {
		service = id.String()
	}
	switch {
	case isConversionRefusal(err):
		return fmt.Sprintf("the conversion webhook of %s returned this error: check its log, or write the object in the version that the CRD stores", crd)
	case strings.Contains(err.Error(), "not found"):
		return fmt.Sprintf("%s converts between versions with %s, which does not exist: apply it first, or set spec.conversion.strategy: None if all versions have the same schema", crd, service)
	case strings.Contains(err.Error(), "x509: "):
		return fmt.Sprintf("the caBundle in spec.conversion of %s does not match the certificate of %s: renew one of them", crd, service)
	}
	return fmt.Sprintf("%s converts between versions with %s, which does not answer: check that its workload is running and reachable from the API server", crd, service)
}
