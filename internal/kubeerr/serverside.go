package kubeerr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Errors of the API server itself, or of the network, get a message that says
// whom to ask.

// AfterAttempts adds to an explained error the number of attempts and their
// time span.
func AfterAttempts(explained error, times int, since time.Time) error {
	if times < 2 {
		return explained
	}
	return fmt.Errorf("%w; it was sent %d times in %s", explained, times, time.Since(since).Round(time.Second/10))
}

// serverAdvice returns advice about an API server that could not process a
// request; "" for any other error.
func serverAdvice(err error) string {
	switch text := err.Error(); {
	case apierrors.IsTooManyRequests(err):
		return "the API server, or what stands before it, takes no more requests for now: run this again when it is less busy, or let whoever runs the cluster see " +
			"who loads it (kubectl get flowschemas, kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels)"
	case strings.Contains(text, "etcdserver: "):
		return "etcd, which stores what the API server knows, was slow or changed its leader: let whoever runs the cluster see to etcd and its disks, then run this again"
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), strings.Contains(text, "context deadline exceeded"):
		return "the API server did not get it done in time: let whoever runs the cluster see to its load, to etcd and to slow admission webhooks, then run this again"
	case apierrors.IsServiceUnavailable(err), isGatewayError(err):
		return "the API server, or what stands before it, cannot serve for now: see whether it is starting or overloaded (kubectl get --raw '/readyz?verbose'), then run this again"
	case apierrors.IsInternalError(err), apierrors.IsUnexpectedServerError(err):
		return "the API server failed at it, and its log tells more: let whoever runs the cluster see, then run this again"
	case apierrors.IsAlreadyExists(err):
		return "somebody else creates and deletes it again and again: stop that, or run this again"
	}
	return ""
}

// isGatewayError reports whether the code is that of a proxy whose backend did
// not answer.
func isGatewayError(err error) bool {
	status, ok := AsStatus(err)
	return ok && (status.Code == 502 || status.Code == 504)
}

// Unreachable explains the error of a request that got no answer.
func Unreachable(err error) error {
	cause := WithoutURL(err)
	var name *net.DNSError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("the API server could not be reached, its name is not known: %w; see to the kubeconfig's server, to DNS and to the VPN", cause)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the API server could not be reached, %w: see whether it is up and not overloaded, then run this again", TimeoutInWords(err))
	}
	return fmt.Errorf("the API server could not be reached: %w; see whether it is up, and the network, VPN or proxy on the way to it, then run this again", cause)
}

// TimeoutInWords drops the URL of the request from an error, and explains a bare
// "context deadline exceeded".
func TimeoutInWords(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it gave no answer in time (%w)", WithoutURL(err))
	}
	return WithoutURL(err)
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
