package fault

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

// IsConversionFailure reports whether the API server could not convert an object to the
// version of the request, so that another version may work.
func IsConversionFailure(err error) bool {
	if err == nil {
		return false
	}
	_, _, ok := failedConversion(err)
	return ok
}

// isConversionUnreachable reports whether a conversion webhook could not be
// reached, as opposed to answering with an error.
func isConversionUnreachable(err error) bool {
	_, why, ok := failedConversion(err)
	return ok && (strings.HasPrefix(why, `Post "`) || strings.HasPrefix(why, "the server ") || strings.HasPrefix(why, "an error on the server"))
}

// isUnfitForLastVersion reports whether an object has fields that are missing in the version of
// its field manager's last apply. Server-side apply prunes by that version.
func isUnfitForLastVersion(err error) bool {
	return strings.Contains(err.Error(), "failed to convert merged object to last applied version")
}

// isConversionRefusal reports whether a conversion webhook answered with an
// error.
func isConversionRefusal(err error) bool {
	_, _, ok := failedConversion(err)
	return ok && !isConversionUnreachable(err)
}
