package kubeerr

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// A CustomResourceDefinition may have a webhook that converts its resources
// between versions. While the webhook does not answer, the API server can
// neither store nor read them, and answers with code 500 and no reason.

// failedConversion returns the kind and the cause of a conversion that
// failed; false for any other error.
func failedConversion(err error) (of object.ID, why string, ok bool) {
	m := regexp.MustCompile(`(?s)conversion webhook for ([^,\s]*), Kind=(\S+) failed: (.*)`).FindStringSubmatch(err.Error())
	if m == nil {
		return object.ID{}, "", false
	}
	group, _ := object.SplitAPIVersion(m[1])
	return object.ID{Group: group, Kind: m[2]}, m[3], true
}

// isConversionUnreachable reports whether a conversion webhook could not be
// reached, as opposed to answering with an error.
func isConversionUnreachable(err error) bool {
	_, why, ok := failedConversion(err)
	return ok && (strings.HasPrefix(why, `Post "`) || strings.HasPrefix(why, "the server ") || strings.HasPrefix(why, "an error on the server"))
}

// isConversionRefusal reports whether a conversion webhook answered with an
// error.
func isConversionRefusal(err error) bool {
	_, _, ok := failedConversion(err)
	return ok && !isConversionUnreachable(err)
}

// conversionAdvice returns what to check when a conversion failed.
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
