package kubeerr

import (
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
