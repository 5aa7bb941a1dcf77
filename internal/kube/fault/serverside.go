package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Errors of the API server itself, or of the network, get a message that names
// a contact.

// AfterAttempts adds to an explained error the number of attempts and their
// time span.
func AfterAttempts(explained error, times int, since time.Time) error {
	if times < 2 {
		return explained
	}
	return fmt.Errorf("%w; gave up after %d attempts in %s", explained, times, time.Since(since).Round(time.Second/10))
}

// serverAdvice returns advice about an API server that could not process a
// request; "" for any other error.
func serverAdvice(err error) string {
	switch text := err.Error(); {
	case apierrors.IsTooManyRequests(err):
		return "the API server, or a proxy in front of it, is limiting requests: run this again when it is less busy, or ask the cluster administrator " +
			"which client causes the load (kubectl get flowschemas, kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels)"
	case strings.Contains(text, "etcdserver: "):
		return "etcd, the API server's database, was slow or changed its leader: ask the cluster administrator to check etcd and its disks, then run this again"
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), strings.Contains(text, "context deadline exceeded"):
		return "the API server did not finish the request in time: ask the cluster administrator to check its load, etcd and slow admission webhooks, then run this again"
	case apierrors.IsServiceUnavailable(err), isGatewayError(err):
		return "the API server, or a proxy in front of it, is unavailable: check whether it is starting or overloaded (kubectl get --raw '/readyz?verbose'), then run this again"
	case apierrors.IsInternalError(err), apierrors.IsUnexpectedServerError(err):
		return "the API server failed with an internal error: ask the cluster administrator to check its log, then run this again"
	case apierrors.IsAlreadyExists(err):
		return "another client keeps creating and deleting it: stop that client, or run this again"
	}
	return ""
}

// isGatewayError reports whether the code is from a proxy whose backend did not
// answer.
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
		return fmt.Errorf("the API server could not be reached, its host name does not resolve: %w; check the kubeconfig's server, DNS and the VPN", cause)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the API server could not be reached, %w: check that it is up and not overloaded, then run this again", TimeoutInWords(err))
	}
	return fmt.Errorf("the API server could not be reached: %w; check that it is up, and the network, VPN or proxy in between, then run this again", cause)
}
