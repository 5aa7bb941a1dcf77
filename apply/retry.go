package apply

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

// patience is how long a failed PATCH may be repeated; 0 when its cause will
// not pass by itself. The cause decides, not the status code.
func patience(err error) time.Duration {
	switch {
	case isWebhookTransport(err): // also while it converts a new object
		return time.Minute
	case unknownField(err), unfitValue(err), isDenial(err), isConversionRefusal(err):
		return 0
	case missingAccount(err) != "":
		return 10 * time.Second // a new Namespace gets its default one a moment later
	case notServed(err):
		return 10 * time.Second // API servers behind one address learn of a CRD one after another
	case apierrors.IsConflict(err):
		if fieldConflict(err) {
			return 0
		}
		return 30 * time.Second
	case apierrors.IsAlreadyExists(err): // somebody created it at the same time
		return 30 * time.Second
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsUnexpectedServerError(err):
		return 30 * time.Second
	case isConnectionTrouble(err):
		return 30 * time.Second
	}
	return 0
}

// retryAfter is how long the server asked to wait.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// conflict is one field that another manager owns.
type conflict struct{ manager, field string }

// conflicts are those that the API server refused a PATCH for.
func conflicts(err error) []conflict {
	status, ok := asStatus(err)
	if !ok || !fieldConflict(err) {
		return nil
	}
	var found []conflict
	for _, cause := range status.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			manager, _, _ := strings.Cut(strings.TrimPrefix(cause.Message, `conflict with "`), `"`)
			found = append(found, conflict{manager, cause.Field})
		}
	}
	return found
}

// missing recognises the answer about an object that is not there.
func missing(err error) bool { return apierrors.IsNotFound(err) }

// backoff is the pause before the n-th repetition: from 0.1 s doubling to 5 s,
// with a jitter of half of it.
func backoff(ctx context.Context, n int) time.Duration {
	pause := min(100*time.Millisecond<<min(n-1, 10), 5*time.Second)
	jitter, ok := ctx.Value(jitterKey{}).(func(time.Duration) time.Duration)
	if !ok {
		jitter = func(limit time.Duration) time.Duration { return rand.N(limit + 1) }
	}
	return pause/2 + jitter(pause/2)
}

type jitterKey struct{}

// WithJitter takes what is random in the pauses before requests are repeated, with
// the context that it returns, from jitter: a time from 0 to limit. Two runs with
// the same jitter and the same answers send the same requests at the same times.
// Default: math/rand. It is called by many goroutines at once.
func WithJitter(ctx context.Context, jitter func(limit time.Duration) time.Duration) context.Context {
	return context.WithValue(ctx, jitterKey{}, jitter)
}

// unknownField recognises a manifest that does not fit its kind's schema, which
// the API server answers with code 500.
func unknownField(err error) bool {
	return strings.Contains(err.Error(), "failed to create typed patch object")
}

// unfitValue recognises a value that its field cannot hold, such as bytes that
// are no base64, which the API server answers with code 500.
func unfitValue(err error) bool {
	return strings.Contains(err.Error(), "failed to convert new object")
}

// isWebhookTransport tells a webhook that could not be reached from one that
// said no.
func isWebhookTransport(err error) bool {
	return strings.Contains(err.Error(), "failed calling webhook") && !isDenial(err) || isConversionTransport(err)
}

// isDenial recognises a webhook that said no, with whatever code it chose.
func isDenial(err error) bool { return strings.Contains(err.Error(), "denied the request") }

// isConnectionTrouble recognises a request that got no answer. It may have been
// carried out: applying again does no harm.
func isConnectionTrouble(err error) bool {
	var netErr net.Error
	return strings.Contains(err.Error(), "stream error: stream ID") || // HTTP/2
		utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || // in the middle of an answer
		isUnreachable(err) || errors.As(err, &netErr) && netErr.Timeout() // "i/o timeout", "TLS handshake timeout"
}

// isUnreachable recognises a server that nothing led to.
func isUnreachable(err error) bool {
	var name *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) ||
		errors.Is(err, syscall.EHOSTDOWN) || errors.Is(err, syscall.ENETDOWN) || errors.Is(err, syscall.EPIPE) || errors.As(err, &name)
}

// notServed recognises the bare 404 of a path that the API server does not
// know, as against an object that it does not have.
func notServed(err error) bool {
	status, ok := asStatus(err)
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

// fieldConflict tells a server-side apply conflict from a lost update.
func fieldConflict(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// missingNamespace is the Namespace that a PATCH did not find, "" when that
// was not its trouble.
func missingNamespace(err error) string {
	status, ok := asStatus(err)
	if ok && status.Reason == metav1.StatusReasonNotFound && status.Details != nil && status.Details.Kind == "namespaces" {
		return status.Details.Name
	}
	return ""
}

// beingDeleted recognises the refusal to give finalizers to an object that is
// being deleted.
func beingDeleted(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "no new finalizers can be added if the object is being deleted")
}

func namespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// terminatingNamespace is the Namespace that such an answer names.
func terminatingNamespace(err error) string {
	status, _ := asStatus(err)
	for _, cause := range status.Details.Causes {
		if cause.Type == corev1.NamespaceTerminatingCause {
			name, _, _ := strings.Cut(strings.TrimPrefix(cause.Message, "namespace "), " ")
			return name
		}
	}
	return ""
}

func asStatus(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

// brief leaves out the URL that net/http puts before the cause.
func brief(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}
