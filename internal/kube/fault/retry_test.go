package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// status returns an error as an API server sends it.
func status(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Name: "a", Kind: "configmaps", Causes: causes},
	}}
}

// proxied returns an error of a proxy in front of the API server: a code and
// no Status.
func proxied(code int) error {
	return apierrors.NewGenericServerResponse(code, "patch", schema.GroupResource{Resource: "configmaps"}, "a", "", 0, true)
}

func sending(err error) error { return &url.Error{Op: "Patch", URL: "https://server", Err: err} }

// Each row is one cause, and how long it is retried.
func TestRetryBudget(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"lost update":                  {status(409, "Conflict", "the object has been modified"), 30 * time.Second},
		"concurrent create":            {status(409, "AlreadyExists", `configmaps "a" already exists`), 30 * time.Second},
		"field conflict":               {status(409, "Conflict", "Apply failed", metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict}), 0},
		"too many requests":            {status(429, "TooManyRequests", "slow down"), 30 * time.Second},
		"429 of a proxy":               {proxied(429), 30 * time.Second},
		"internal error":               {status(500, "InternalError", "etcdserver: leader changed"), 30 * time.Second},
		"a value that does not fit":    {status(500, "", "failed to convert new object (shop/db; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 7"), 0},
		"etcd timed out":               {status(500, "InternalError", "etcdserver: request timed out"), 30 * time.Second},
		"unavailable":                  {status(503, "ServiceUnavailable", "busy"), 30 * time.Second},
		"server timeout":               {status(500, "ServerTimeout", "try again"), 30 * time.Second},
		"timeout":                      {status(504, "Timeout", "request did not complete within requested timeout"), 30 * time.Second},
		"502 of a load balancer":       {proxied(502), 30 * time.Second},
		"504 of a load balancer":       {proxied(504), 30 * time.Second},
		"connection reset":             {sending(syscall.ECONNRESET), 30 * time.Second},
		"connection refused":           {sending(fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)), 30 * time.Second},
		"no such host":                 {sending(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api", IsNotFound: true}}), 30 * time.Second},
		"no route to host":             {sending(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}), 30 * time.Second},
		"network unreachable":          {sending(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}), 30 * time.Second},
		"broken pipe":                  {sending(&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}), 30 * time.Second},
		"connection timed out":         {sending(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}), 30 * time.Second},
		"i/o timeout":                  {sending(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}), 30 * time.Second},
		"no answer in time":            {sending(context.DeadlineExceeded), 30 * time.Second},
		"connection closed":            {sending(io.EOF), 30 * time.Second},
		"connection closed in between": {sending(io.ErrUnexpectedEOF), 30 * time.Second},
		"an answer that breaks off":    {fmt.Errorf("unexpected error when reading response body. Please retry. Original error: %w", io.ErrUnexpectedEOF), 30 * time.Second},
		"HTTP/2 lost":                  {sending(errors.New("http2: client connection lost")), 30 * time.Second},
		"HTTP/2 stream reset":          {sending(errors.New("stream error: stream ID 5; INTERNAL_ERROR; received from peer")), 30 * time.Second},
		"GOAWAY":                       {sending(errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR")), 30 * time.Second},
		"certificate":                  {sending(errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")), 0},
		"webhook unreachable":          {status(500, "InternalError", `failed calling webhook "guard.example": failed to call webhook: Post "https://guard": dial tcp 127.0.0.1:1: connect: connection refused`), time.Minute},
		"webhook without endpoints":    {status(500, "InternalError", `failed calling webhook "guard.example": failed to call webhook: Post "https://guard": no endpoints available for service "guard"`), time.Minute},
		"conversion unreachable":       {status(500, "", `conversion webhook for example.com/v1, Kind=Widget failed: Post "https://conv.shop.svc:443/convert?timeout=30s": service "conv" not found`), time.Minute},
		"conversion of what is sent":   {status(500, "", `failed to convert new object (shop/one; example.com/v1, Kind=Widget) to proper version (example.com/v2): conversion webhook for example.com/v1, Kind=Widget failed: Post "https://conv.shop.svc:443/convert?timeout=30s": dial tcp 10.0.0.1:443: connect: connection refused`), time.Minute},
		"conversion behind a proxy":    {status(500, "", `conversion webhook for example.com/v1, Kind=Widget failed: the server is currently unable to handle the request`), time.Minute},
		"conversion that says no":      {status(500, "", `conversion webhook for example.com/v1, Kind=Widget failed: spec.size is too large for v2`), 0},
		"denied by a webhook":          {status(403, "Forbidden", `admission webhook "guard.example" denied the request: no`), 0},
		"denied with a code":           {status(500, "InternalError", `admission webhook "guard.example" denied the request: no`), 0},
		"kind not served":              {proxied(404), 10 * time.Second},
		"namespace missing":            {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), 0},
		"service account missing":      {status(403, "Forbidden", `pods "a" is forbidden: error looking up service account shop/default: serviceaccount "default" not found`), 10 * time.Second},
		"namespace terminating":        {status(403, "Forbidden", "being terminated", metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), 0},
		"CRD terminating":              {status(403, "Forbidden", "create not allowed while custom resource definition is terminating"), 0},
		"forbidden":                    {status(403, "Forbidden", "cannot patch resource"), 0},
		"unauthorized":                 {status(401, "Unauthorized", "Unauthorized"), 0},
		"invalid":                      {status(422, "Invalid", "is invalid"), 0},
		"bad request":                  {status(400, "BadRequest", "cannot be handled"), 0},
		"unknown field":                {status(500, "InternalError", "failed to create typed patch object (a; v1, Kind=ConfigMap): .dta: field not declared in schema"), 0},
		"too large":                    {status(413, "RequestEntityTooLarge", "limit is 3145728"), 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, RetryBudget(c.err), "%v", c.err) })
	}
}

// The server's Retry-After takes precedence over our own backoff, which
// doubles up to 5 s.
func TestBackoff(t *testing.T) {
	require.Equal(t, 7*time.Second, RetryAfter(apierrors.NewTooManyRequests("slow down", 7)))
	require.Zero(t, RetryAfter(sending(syscall.ECONNRESET)))
	for n, longest := range []time.Duration{1: 100, 2: 200, 3: 400, 6: 3200, 7: 5000, 50: 5000} {
		if longest == 0 {
			continue
		}
		for range 100 {
			pause := Backoff(n)
			require.LessOrEqual(t, pause, longest*time.Millisecond)
			require.GreaterOrEqual(t, pause, longest*time.Millisecond/2)
		}
	}
}

// The jitter of requests that fail a nanosecond apart differs by chance, and with a fake
// clock it can be repeated.
func TestJitterIsOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shorter := 0
		for range 1000 {
			pause := Backoff(7)
			require.Equal(t, pause, Backoff(7))
			time.Sleep(time.Nanosecond)
			if Backoff(7) < pause {
				shorter++
			}
		}
		require.InDelta(t, 500, shorter, 60)
	})
}
