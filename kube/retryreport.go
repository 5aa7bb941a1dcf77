package kube

import (
	"context"
	"net/http"
	"time"
)

// Retry is a request that failed and is sent again after a pause.
type Retry struct {
	// Of is the operation, such as "apply Deployment shop/web".
	Of string
	// Attempt counts the failed attempts, from 1; 0 where client-go retries
	// by itself and does not count.
	Attempt int
	// Pause is the time until the next attempt; 0 where it is not known.
	Pause time.Duration
	// Cause is the error of the attempt, without the values of Secrets; nil
	// where nothing failed, as for a kind that is not served yet.
	Cause error
}

type retriesKey struct{}

// WithRetries returns a context whose requests report every retry to report, as
// httptrace.WithClientTrace does for connections. k8sconnect's ADR-007 requires that at
// debug level. report is called by many
// goroutines at once and must not block. Default: retries are not reported.
func WithRetries(ctx context.Context, report func(Retry)) context.Context {
	return context.WithValue(ctx, retriesKey{}, report)
}

// ReportRetry reports a retry to the function of WithRetries, if the context has one.
func ReportRetry(ctx context.Context, r Retry) {
	if report, ok := ctx.Value(retriesKey{}).(func(Retry)); ok {
		report(r)
	}
}

// reportThrottling reports an answer with Retry-After, which client-go
// retries by itself: it returns only the last answer.
func reportThrottling(request *http.Request, response *http.Response) {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
		return
	}
	seconds, err := time.ParseDuration(response.Header.Get("Retry-After") + "s")
	if err != nil {
		return
	}
	ReportRetry(request.Context(), Retry{Of: request.Method + " " + request.URL.Path, Pause: seconds, Cause: statusError(response.Status)})
}

// statusError is the status of an answer, such as "503 Service Unavailable".
type statusError string

func (e statusError) Error() string { return string(e) }
