package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// responseTimeout is how long a request may be without any answer. An API server
// ends requests after a minute by itself, with an error; a server that is
// silent for longer will not answer any more.
const responseTimeout = 75 * time.Second

// discoveryTimeout bounds a discovery request, as kubectl does.
const discoveryTimeout = 32 * time.Second

// noResponseError is the error of a request that got no answer.
type noResponseError struct{}

func (noResponseError) Error() string {
	return fmt.Sprintf("no answer for %s", responseTimeout)
}

// Timeout and Temporary implement net.Error.
func (noResponseError) Timeout() bool { return true }

func (noResponseError) Temporary() bool { return true }

// attemptTransport sends the attempts of requests: it gives up on a server that does not
// answer, marks errors of requests that were not sent, and reports those that client-go
// sends again by itself.
type attemptTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n attemptTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	send := n.roundTripWithTimeout
	if writes(request) {
		send = func(request *http.Request) (*http.Response, error) {
			return sendMarked(request, n.roundTripWithTimeout)
		}
	}
	response, err := send(request)
	if err != nil {
		return nil, err
	}
	response = withoutCacheRetry(request, response)
	reportThrottling(request, response)
	return response, nil
}

// roundTripWithTimeout waits for the response headers, at most responseTimeout.
func (n attemptTransport) roundTripWithTimeout(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	late := time.AfterFunc(responseTimeout, cancel)
	response, err := n.next.RoundTrip(request.WithContext(ctx))
	silent := !late.Stop() && request.Context().Err() == nil
	switch {
	case err == nil && !silent:
		response.Body = body{response.Body, cancel}
		return response, nil
	case err == nil: // it came at the very end
		_ = response.Body.Close()
	}
	cancel()
	if silent {
		return nil, noResponseError{}
	}
	return nil, err
}

// body cancels its request's context when it is closed.
type body struct {
	io.ReadCloser
	done func()
}

func (b body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (n attemptTransport) WrappedRoundTripper() http.RoundTripper { return n.next }

// watchTransport reports each attempt of the requests of a watch to tried, with nil when
// it got an answer. client-go retries some requests by itself, and treats a watch that
// broke at once like one without events.
type watchTransport struct {
	next  http.RoundTripper
	tried func(error)
}

// RoundTrip implements http.RoundTripper.
func (w watchTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if request.Context().Err() == nil {
		w.tried(err)
	}
	return response, err
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (w watchTransport) WrappedRoundTripper() http.RoundTripper { return w.next }
