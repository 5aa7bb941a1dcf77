package kubeerr

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IsUnanswered reports whether a request failed without an answer of the API
// server. The bare 404 of a path that is not served is an answer.
func IsUnanswered(err error) bool {
	return IsConnectionError(err) || apierrors.IsUnexpectedServerError(err) && !IsNotServed(err)
}
