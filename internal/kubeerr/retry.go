package kubeerr

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// RetryBudget returns how long a failed PATCH may be retried; 0 when the failure
// is not transient. The cause decides, not the status code.
func RetryBudget(err error) time.Duration {
	switch {
	case IsWebhookUnreachable(err): // also while it converts a new object
		return time.Minute
	case IsUnknownField(err), IsUnfitValue(err), IsDenied(err), isConversionRefusal(err):
		return 0
	case MissingServiceAccount(err) != "":
		return 10 * time.Second // a new Namespace gets its default one a moment later
	case IsNotServed(err):
		return 10 * time.Second // API servers behind one address learn of a CRD one after another
	case apierrors.IsConflict(err):
		if IsFieldConflict(err) {
			return 0
		}
		return 30 * time.Second
	case apierrors.IsAlreadyExists(err): // created concurrently
		return 30 * time.Second
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsUnexpectedServerError(err):
		return 30 * time.Second
	case IsConnectionError(err):
		return 30 * time.Second
	}
	return 0
}

// RetryAfter returns the delay that the server asked for; 0 if it did not.
func RetryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// IsMissing reports whether an object does not exist.
func IsMissing(err error) bool { return apierrors.IsNotFound(err) }

// Backoff returns the delay before the n-th retry: from 0.1 s doubling to 5
// s, half of it jitter.
func Backoff(ctx context.Context, n int) time.Duration {
	pause := min(100*time.Millisecond<<min(n-1, 10), 5*time.Second)
	jitter, ok := ctx.Value(jitterKey{}).(func(time.Duration) time.Duration)
	if !ok {
		jitter = func(limit time.Duration) time.Duration { return rand.N(limit + 1) }
	}
	return pause/2 + jitter(pause/2)
}

type jitterKey struct{}

// WithJitter returns a context whose retries take the random part of their
// backoff from jitter: a time from 0 to limit. Two runs with the same jitter
// and the same answers send the same requests at the same times. Default:
// math/rand. jitter is called by many goroutines at once.
func WithJitter(ctx context.Context, jitter func(limit time.Duration) time.Duration) context.Context {
	return context.WithValue(ctx, jitterKey{}, jitter)
}

// IsUnknownField reports whether a manifest does not match its kind's schema,
// which the API server answers with code 500.
func IsUnknownField(err error) bool {
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

// IsDenied reports whether a webhook denied the request, with any code.
func IsDenied(err error) bool { return strings.Contains(err.Error(), "denied the request") }

// IsConnectionError reports whether a request got no answer. It may have
// been carried out: applying again is harmless.
func IsConnectionError(err error) bool {
	var netErr net.Error
	return strings.Contains(err.Error(), "stream error: stream ID") || // HTTP/2
		utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || // in the middle of an answer
		isUnreachable(err) || errors.As(err, &netErr) && netErr.Timeout() // "i/o timeout", "TLS handshake timeout"
}

// isUnreachable reports whether no connection to the server was possible.
func isUnreachable(err error) bool {
	var name *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) ||
		errors.Is(err, syscall.EHOSTDOWN) || errors.Is(err, syscall.ENETDOWN) || errors.Is(err, syscall.EPIPE) || errors.As(err, &name)
}

// IsNotServed reports whether an error is the bare 404 of a path that the API
// server does not serve, as opposed to that of a missing object.
func IsNotServed(err error) bool {
	status, ok := AsStatus(err)
	return ok && status.Code == 404 && (status.Details == nil || status.Details.Name == "" || unexpectedBody(status))
}

func unexpectedBody(status metav1.Status) bool {
	for _, cause := range status.Details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
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

// AsStatus returns the Status that the API server answered with, and whether there is one.
func AsStatus(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

// WithoutURL drops the URL that net/http puts before the cause.
func WithoutURL(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}
