package apply

import (
	"context"
	"net/http"
)

// noting tells whoever asked by onAttempt of each attempt at a request. The
// client repeats some of them by itself, and takes a watch that broke at once for
// one that saw nothing.
type noting struct{ next http.RoundTripper }

type attemptKey struct{}

// onAttempt lets requests with the context that it returns tell of each attempt
// whether it got an answer; nil when it did.
func onAttempt(ctx context.Context, tried func(error)) context.Context {
	return context.WithValue(ctx, attemptKey{}, tried)
}

// RoundTrip implements http.RoundTripper.
func (n noting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(request)
	if tried, ok := request.Context().Value(attemptKey{}).(func(error)); ok && request.Context().Err() == nil {
		tried(err)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (n noting) WrappedRoundTripper() http.RoundTripper { return n.next }
