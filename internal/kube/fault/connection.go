package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

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

// WithoutURL drops the URL that net/http puts before the cause.
func WithoutURL(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// CredentialsRefused reports whether a request failed because of its
// credentials: a token or certificate is invalid or expired, or could not be
// obtained.
func CredentialsRefused(err error) bool {
	if apierrors.IsUnauthorized(err) {
		return true
	}
	text := err.Error()
	for _, words := range []string{
		"remote error: tls: expired certificate", "remote error: tls: bad certificate", "remote error: tls: certificate required",
		"remote error: tls: unknown certificate", // also "unknown certificate authority"
		"getting credentials: ",                  // a plugin of the kubeconfig
	} {
		if strings.Contains(text, words) && !strings.Contains(text, "webhook") {
			return true
		}
	}
	return false
}

// LogInAdvice is the remedy for an error with CredentialsRefused.
const LogInAdvice = "the API server does not accept the credentials of your kubeconfig: log in again"

// LogInError is the cause of an error whose text already says to log in again.
type LogInError struct{ Err error }

// Error returns the text of the cause.
func (e LogInError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e LogInError) Unwrap() error { return e.Err }

// TimeoutInWords drops the URL of the request from an error, and explains a bare
// "context deadline exceeded".
func TimeoutInWords(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer in time (%w)", WithoutURL(err))
	}
	return WithoutURL(err)
}
