package apply

import (
	"context"
	"net/http"
	"time"
)

// Retry is a request that is sent again after a pause.
type Retry struct {
	// Of says what is being done, such as "apply Deployment shop/web".
	Of string
	// Attempt counts the attempts that failed, from 1; 0 where the client library
	// repeats a request and does not count.
	Attempt int
	// Pause is the time until the next attempt; 0 where it is not known.
	Pause time.Duration
	// Cause is why the attempt failed, without the values of Secrets; nil where
	// nothing failed, as for a kind that is not served yet.
	Cause error
}

type retriesKey struct{}

// WithRetries reports every request that is sent again, with the context that it
// returns, to report: what k8sconnect's ADR-007 asks for at debug level. It is called
// by many goroutines at once and must not block. Default: retries are not reported.
func WithRetries(ctx context.Context, report func(Retry)) context.Context {
	return context.WithValue(ctx, retriesKey{}, report)
}

func reportRetry(ctx context.Context, r Retry) {
	if report, ok := ctx.Value(retriesKey{}).(func(Retry)); ok {
		report(r)
	}
}

// reportThrottling reports an answer that client-go takes as a request to come back
// later: it does so itself, and returns only the last answer.
func reportThrottling(request *http.Request, response *http.Response) {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
		return
	}
	seconds, err := time.ParseDuration(response.Header.Get("Retry-After") + "s")
	if err != nil {
		return
	}
	reportRetry(request.Context(), Retry{Of: request.Method + " " + request.URL.Path, Pause: seconds, Cause: statusError(response.Status)})
}

// statusError is the status of an answer, such as "503 Service Unavailable".
type statusError string

func (e statusError) Error() string { return string(e) }
