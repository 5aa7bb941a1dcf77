package apply

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// A CustomResourceDefinition may let a webhook convert its resources between
// versions. While that does not answer, the API server can neither store nor
// read them, and says so with code 500 and no reason.

// failedConversion is what the API server says of a conversion: of which kind,
// and why it failed; false when that was not the trouble.
func failedConversion(err error) (of object.ID, why string, ok bool) {
	m := regexp.MustCompile(`(?s)conversion webhook for ([^,\s]*), Kind=(\S+) failed: (.*)`).FindStringSubmatch(err.Error())
	if m == nil {
		return object.ID{}, "", false
	}
	group, _ := object.SplitAPIVersion(m[1])
	return object.ID{Group: group, Kind: m[2]}, m[3], true
}

// isConversionTransport tells a conversion webhook that could not be reached
// from one that said why it would not convert.
func isConversionTransport(err error) bool {
	_, why, ok := failedConversion(err)
	return ok && (strings.HasPrefix(why, `Post "`) || strings.HasPrefix(why, "the server ") || strings.HasPrefix(why, "an error on the server"))
}

// isConversionRefusal recognises a conversion webhook that answered, with an
// error.
func isConversionRefusal(err error) bool {
	_, _, ok := failedConversion(err)
	return ok && !isConversionTransport(err)
}

// conversionAdvice says where to look when a conversion failed.
func conversionAdvice(err error) string {
	of, _, _ := failedConversion(err)
	crd := "the CustomResourceDefinition of " + of.GroupKind()
	service := "what its spec.conversion names"
	if id, ok := webhookService(err); ok {
		service = id.String()
	}
	switch {
	case isConversionRefusal(err):
		return fmt.Sprintf("the conversion webhook of %s answered, with that error: see to its log, or write the object in the version that the CRD stores", crd)
	case strings.Contains(err.Error(), "not found"):
		return fmt.Sprintf("%s lets %s convert between its versions, which does not exist: apply it first, or set spec.conversion.strategy: None if all versions are alike", crd, service)
	case strings.Contains(err.Error(), "x509: "):
		return fmt.Sprintf("the caBundle in spec.conversion of %s does not fit the certificate that %s shows: renew one of them", crd, service)
	}
	return fmt.Sprintf("%s lets %s convert between its versions, which does not answer: is its workload running and reachable from the API server?", crd, service)
}
