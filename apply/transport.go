package apply

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answerWithin is how long a request may be without any answer. An API server
// ends one after a minute by itself, and says so: what is silent for longer will
// not answer any more.
const answerWithin = 75 * time.Second

// discoverWithin bounds a whole request of discovery, as kubectl does.
const discoverWithin = 32 * time.Second

// silentError is the error of a request that nobody answered.
type silentError struct{}

func (silentError) Error() string { return fmt.Sprintf("there was no answer for %s", answerWithin) }

// Timeout and Temporary make it a net.Error.
func (silentError) Timeout() bool { return true }

func (silentError) Temporary() bool { return true }

// noting tells whoever asked by onAttempt of each attempt at a request. The
// client repeats some of them by itself, and takes a watch that broke at once for
// one that saw nothing. It also asks the fence of a request that has one, and gives
// up on a server that does not answer.
type noting struct {
	next   http.RoundTripper
	fences *fences
}

type attemptKey struct{}

// onAttempt lets requests with the context that it returns tell of each attempt
// whether it got an answer; nil when it did.
func onAttempt(ctx context.Context, tried func(error)) context.Context {
	return context.WithValue(ctx, attemptKey{}, tried)
}

// RoundTrip implements http.RoundTripper.
func (n noting) RoundTrip(request *http.Request) (*http.Response, error) {
	admitted, end, err := n.fences.begin(request)
	if err != nil {
		return nil, err
	}
	send := n.answered
	if writes(request) {
		send = func(request *http.Request) (*http.Response, error) { return whetherSent(request, n.answered) }
	}
	response, err := send(admitted)
	end()
	if err == nil {
		reportThrottling(request, response)
	}
	if tried, ok := request.Context().Value(attemptKey{}).(func(error)); ok && request.Context().Err() == nil {
		tried(err)
	}
	return response, err
}

// answered waits for the answer's beginning, but not for ever.
func (n noting) answered(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	late := time.AfterFunc(answerWithin, cancel)
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
		return nil, silentError{}
	}
	return nil, err
}

// body lets go of its request when it is closed.
type body struct {
	io.ReadCloser
	done func()
}

func (b body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// WrappedRoundTripper lets client-go find the transport below.
func (n noting) WrappedRoundTripper() http.RoundTripper { return n.next }
